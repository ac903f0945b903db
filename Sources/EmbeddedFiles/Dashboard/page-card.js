import { fill, h, say } from "./dom.js";
import { Parts } from "./drawn.js";
import { count, dateTime } from "./format.js";
import { nameOf } from "./name.js";
import { PageActions } from "./page-actions.js";
import { CaptureProgress, chipsOf, sizeOf, titleOf } from "./page-words.js";
import { isRunning } from "./pages-model.js";
import { relativeTime } from "./relative-time.js";
import { Screenshot } from "./screenshot.js";

/** A card keeps its element as long as its page is shown, so that a focused button stays focused. */
export class PageCard {
    #context;
    #key;
    #ending = new AbortController();
    #screenshot;
    #title;
    #url = h("p.small.muted.page-url");
    #chips = h("div.chips");
    #progress = new CaptureProgress();
    #facts = h("p.small.muted.page-facts");
    #problem = h("p.small.foreign.page-problem");
    #actions;
    /** The digest of the page's entry, which changes with each capture. */
    #digest = null;
    #parts = new Parts();

    /**
     * @param {object} context the context of the view
     * @param {(page: object|null) => void} onChange called with the changed page; `null` once the page is removed
     */
    constructor(context, { key }, onChange) {
        this.#context = context;
        this.#key = key;
        const address = context.link("page", {}, key);
        this.#screenshot = new Screenshot(context.api, AbortSignal.any([context.signal, this.#ending.signal]));
        this.#title = h("a.page-title", { href: address });
        this.#actions = new PageActions(context, { names: ["open", "again", "remove"], onChange, isInList: true });
        this.element = h(
            "li.page-card", { "data-key": key },
            // The title leads to the same place.
            h("a.page-picture", { href: address, tabindex: -1, "aria-hidden": "true" }, this.#screenshot.element),
            h("div.page-words", {},
                h("h2", {}, this.#title), this.#url, this.#chips, this.#progress.element, this.#problem, this.#facts),
            this.#actions.element);
    }

    /** Whether the card lacks the picture of the newest capture. */
    isDue(page) {
        return page.entry !== undefined && page.entry.digest !== this.#digest;
    }

    /** Fetches the picture of the newest capture. */
    async showScreenshot(page) {
        this.#digest = page.entry?.digest ?? null;
        await this.#screenshot.show(page);
    }

    show(page) {
        const { state, entry, title, mode, browserProblem, lastCapture, missing } = page;
        this.element.dataset.state = state;
        this.#screenshot.expect(page);
        this.#parts.draw("title", [title], () => {
            fill(this.#title, titleOf(page));
            fill(this.#url, title && nameOf(page.url, page.key));
        });
        this.#parts.draw("chips", [state, mode, browserProblem, missing, entry?.state, entry?.pinned], () => fill(
            this.#chips, ...chipsOf(page), missing > 0 && h(
                "a.chip.missing", { href: this.#context.link("page", {}, this.#key) }, `${count(missing)} missing`)));
        this.#progress.show(page);
        say(this.#problem, isRunning(page) ? "" : lastCapture?.problem?.detail ?? "");
        this.#parts.draw("facts", [sizeOf(page), entry?.downloadEndDate, entry?.expiryDate, entry?.state], () => fill(
            this.#facts, ...(entry === undefined ? [] : factsOf(page))));
        this.#actions.show(page);
    }

    /** Frees the picture. */
    end() {
        this.#ending.abort();
        this.element.remove();
    }
}

function factsOf(page) {
    const { downloadEndDate, expiryDate, state } = page.entry;
    const size = sizeOf(page);
    return [
        size !== null && h("span", {}, size),
        h("time", { datetime: downloadEndDate }, dateTime(downloadEndDate)),
        h("span", {}, state === "fresh" ? "expires " : "expired ", relativeTime(expiryDate)),
    ];
}
