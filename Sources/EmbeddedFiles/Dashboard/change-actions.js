import { decisionsOf, isHidden } from "./change-words.js";
import { confirmed } from "./dialog.js";
import { h, say } from "./dom.js";
import { nameOf } from "./name.js";

/** For each decision: the words of its button, of a failure and of its success, and the method that performs it. */
const DECISIONS = {
    ours: { words: "Take ours", done: "The change is sent over the version of the origin." },
    theirs: { words: "Take theirs", done: "The version of the origin stays. The change was cancelled." },
    edit: { words: "Edit and send" },
    retry: { words: "Send again", done: "The change is sent again." },
    cancel: { words: "Cancel change", done: "The change was cancelled." },
    revert: { words: "Revert" },
};
const FAILURE = "The decision was not taken";

/** The buttons of a change, which are the decisions that the API offers in its state. One decision runs at a time. */
export class ChangeActions {
    #context;
    #path;
    #onChange;
    #change = null;
    #buttons;

    /**
     * @param {object} context the context of the view
     * @param {string} path the path of the change
     * @param {(change: object) => void} onChange called with the change after a decision
     * @param {() => void} onEdit opens or closes the editor of a merged body
     */
    constructor(context, path, onChange, onEdit) {
        this.#context = context;
        this.#path = path;
        this.#onChange = onChange;
        this.#buttons = Object.fromEntries(Object.entries(DECISIONS).map(([name, { words }]) => {
            const kind = name === "cancel" || name === "theirs" ? ".warns" : name === "ours" ? ".primary" : "";
            const click = () => name === "edit" ? onEdit() : this.#decide(name);
            return [name, h(`button${kind}`, { type: "button", click }, words)];
        }));
        this.element = h("div.actions", {}, ...Object.values(this.#buttons));
    }

    show(change, isEditing) {
        this.#change = change;
        const offered = decisionsOf(change);
        for (const [name, button] of Object.entries(this.#buttons)) {
            button.hidden = !offered.includes(name);
            say(button, wordsOf(name, change));
        }
        this.#buttons.edit.setAttribute("aria-expanded", String(isEditing));
        this.element.hidden = offered.length === 0;
    }

    /** Sends a merged body. Returns whether the server has taken it. */
    sendBody(text) {
        // The body is sent as text, because numbers of JSON would lose digits.
        return this.#run(() => this.#resolve({ take: "body", text }, "The merged body is sent."));
    }

    #decide(name) {
        return this.#run(async () => {
            if (!await this.#isConfirmed(name)) return;
            const { done } = DECISIONS[name];
            switch (name) {
            case "ours": case "theirs": return this.#resolve({ take: name }, done);
            case "retry": return this.#take(await this.#context.api.json("POST", `${this.#path}/retry`), done);
            case "cancel": return this.#take(await this.#context.api.json("DELETE", this.#path), done);
            case "revert": return this.#revert();
            }
        });
    }

    /** Runs one decision at a time. Returns whether it succeeded. */
    async #run(decision) {
        const buttons = Object.values(this.#buttons);
        if (buttons.some((button) => button.getAttribute("aria-disabled") === "true")) return false;
        for (const button of buttons) button.setAttribute("aria-disabled", "true");
        let isDone = true;
        try {
            await decision();
        } catch (error) {
            isDone = false;
            if (error.name !== "AbortError") this.#context.notices.failed(FAILURE, error);
        }
        for (const button of buttons) button.removeAttribute("aria-disabled");
        return isDone;
    }

    async #resolve(body, done) {
        this.#take(await this.#context.api.json("POST", `${this.#path}/resolve`, { body }), done);
    }

    #take(change, done) {
        this.#context.notices.done(done);
        this.#onChange(change);
    }

    async #revert() {
        const { id } = await this.#context.api.json("POST", `${this.#path}/revert`);
        this.#context.notices.done(
            "A new change takes this one back: ",
            h("a", { href: this.#context.link("change", {}, id) }, `change ${id}`));
    }

    /** Asks before the edit of the change is given up, and before an effect may happen twice. */
    async #isConfirmed(name) {
        const { method, url, state } = this.#change;
        const question = { theirs: "Give up this change?", cancel: "Give up this change?" }[name]
            ?? (name === "retry" && state === "uncertain" && method === "POST" ? "Send this change again?" : null);
        if (question === null) return true;
        const words = name === "theirs" ? "The version of the origin stays, and the change is not sent."
            : name === "cancel" ? "The change is not sent any more. A request that was sent may have had its effect."
                : "The origin may have received the first request. The effect may then happen twice.";
        return confirmed(
            { title: question, action: DECISIONS[name].words, signal: this.#context.signal },
            h("p.mono.small", {}, `${method} `, nameOf(url, url)), h("p.small.muted", {}, words));
    }
}

/** Returns the words of a button, which depend on the state of the change. */
function wordsOf(name, { state, problem, method }) {
    if (name === "ours" && (isHidden({ state, problem }) || problem?.kind === "validatorRefused")) {
        return "Send without a precondition";
    }
    if (name === "ours" && method === "DELETE") return "Delete anyway";
    if (name === "retry" && state === "pending") return "Send now";
    if (name === "retry" && state === "conflict") return "Compare again";
    return DECISIONS[name].words;
}
