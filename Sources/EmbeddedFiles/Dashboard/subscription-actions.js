import { confirmed } from "./dialog.js";
import { h, newId } from "./dom.js";

/** The buttons of a subscription. An action runs at most once at a time. */
export class SubscriptionActions {
    #context;
    #name;
    #onChange;
    #buttons;

    /**
     * @param {object} context the context of the view
     * @param {(subscription: object|null) => void} onChange called with the subscription after a refresh has begun;
     *     `null` once the subscription is removed
     * @param {boolean} isInList whether the labels of the buttons name the subscription
     */
    constructor(context, name, onChange, isInList = false) {
        this.#context = context;
        this.#name = name;
        this.#onChange = onChange;
        const button = (kind, words, failure, run) => h(kind + (isInList ? ".small" : ""), {
            type: "button", "aria-label": isInList ? `${words}: ${name}` : null,
            click: () => this.#act(failure, run),
        }, words);
        this.#buttons = [
            button(isInList ? "button" : "button.primary", "Refresh now", "The refresh did not begin",
                () => this.#refresh()),
            button("button.warns", "Delete", "The subscription was not deleted", () => this.#remove()),
        ];
        this.element = h("div.actions", {}, ...this.#buttons);
    }

    async #act(failure, run) {
        if (this.#buttons.some((button) => button.getAttribute("aria-disabled") === "true")) return;
        for (const button of this.#buttons) button.setAttribute("aria-disabled", "true");
        try {
            await run();
        } catch (error) {
            if (error.name !== "AbortError") this.#context.notices.failed(failure, error);
        }
        for (const button of this.#buttons) button.removeAttribute("aria-disabled");
    }

    get #path() { return `subscriptions/${encodeURIComponent(this.#name)}`; }

    async #refresh() {
        const subscription = await this.#context.api.json("POST", `${this.#path}/refresh`);
        this.#context.notices.done("The refresh has begun.");
        this.#onChange(subscription);
    }

    async #remove() {
        const { api, notices, signal } = this.#context;
        const keep = h("input", { id: newId(), type: "checkbox", checked: true });
        if (!await confirmed(
            { title: "Delete this subscription?", action: "Delete", signal },
            h("p.foreign", {}, this.#name),
            h("div.check", {}, keep, h("label", { for: keep.id }, "Keep the copies as ordinary entries")),
            h("p.small.muted", {}, "Kept copies can expire and be evicted. Otherwise the copies are removed. Pinned "
                + "copies, and copies of another subscription, stay."))) return;
        await api.json("DELETE", this.#path, { query: { keep: keep.checked } });
        notices.done(
            keep.checked ? "The subscription was deleted. Its copies are entries now."
                : "The subscription was deleted with its copies.");
        this.#onChange(null);
    }
}
