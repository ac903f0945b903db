import { confirmed } from "./dialog.js";
import { h, say } from "./dom.js";
import { exportPage } from "./export-page.js";
import { nameOf } from "./name.js";
import { openPage } from "./open-page.js";
import { plainTitleOf } from "./page-words.js";
import { isRunning } from "./pages-model.js";

/** For each button: its text, the words of a failure, and the method that performs the action. */
const ACTIONS = {
    open: { words: "Open", failure: "The page was not opened" },
    again: { words: "Capture again", failure: "The page was not captured" },
    warc: { words: "Export WARC", busy: "Exporting …", failure: "The page was not exported" },
    wacz: { words: "Export WACZ", busy: "Exporting …", failure: "The page was not exported" },
    pin: { words: "Pin", failure: "The pin was not changed" },
    remove: { words: "Remove", failure: "The page was not removed" },
};

/** The buttons of a page. An action runs at most once at a time. */
export class PageActions {
    #context;
    #onChange;
    #capture;
    #isInList;
    #page = null;
    #buttons;

    /**
     * @param {object} context the context of the view
     * @param {string[]} names the shown buttons: names of `ACTIONS`
     * @param {(page: object|null) => void} onChange called with the changed page; `null` once the page is removed
     * @param {number|null} capture the number of the capture to open and to export; `null` for the newest
     * @param {boolean} isInList whether the labels of the buttons name the page
     */
    constructor(context, { names, onChange, capture = null, isInList = false }) {
        this.#context = context;
        this.#onChange = onChange;
        this.#capture = capture;
        this.#isInList = isInList;
        this.#buttons = Object.fromEntries(names.map((name) => {
            const size = isInList ? ".small" : "";
            const kind = name === "remove" ? ".warns" : name === "open" && !isInList ? ".primary" : "";
            const click = () => this.#act(name, button);
            const button = h(`button${size}${kind}`, { type: "button", click }, ACTIONS[name].words);
            return [name, button];
        }));
        this.element = h("div.actions", {}, ...Object.values(this.#buttons));
    }

    show(page) {
        this.#page = page;
        const isStored = page.entry !== undefined;
        const isBusy = isRunning(page);
        for (const [name, button] of Object.entries(this.#buttons)) {
            // The API removes a page, or cancels its first capture. It has no call for a capture that has failed.
            button.hidden = name === "again" ? isBusy : name === "remove" ? !isStored && !isBusy : !isStored;
            if (button.getAttribute("aria-disabled") !== "true") say(button, this.#wordsOf(name));
            if (this.#isInList) button.setAttribute("aria-label", `${this.#wordsOf(name)}: ${plainTitleOf(page)}`);
        }
    }

    #wordsOf(name) {
        if (name === "pin" && this.#page.entry?.pinned) return "Unpin";
        if (name === "remove" && this.#page.entry === undefined) return "Cancel";
        return ACTIONS[name].words;
    }

    async #act(name, button) {
        if (button.getAttribute("aria-disabled") === "true") return;
        button.setAttribute("aria-disabled", "true");
        const { busy, failure } = ACTIONS[name];
        if (busy !== undefined) say(button, busy);
        try {
            await this.#run(name);
        } catch (error) {
            if (error.name !== "AbortError") this.#context.notices.failed(failure, error);
        }
        button.removeAttribute("aria-disabled");
        say(button, this.#wordsOf(name));
    }

    #run(name) {
        const { api } = this.#context;
        switch (name) {
        case "open": return openPage(api, this.#page.key, this.#capture);
        case "again": return this.#captureAgain();
        case "pin": return this.#changePin();
        case "remove": return this.#remove();
        default: return exportPage(api, this.#page.key, name, this.#capture);
        }
    }

    /** Captures the page again. Settings that a call without them would reset stay as they are. */
    async #captureAgain() {
        const { url, mode, browserProblem, entry, captures, updateExpiry } = this.#page;
        const body = {
            url, ttl: entry?.expiresInSeconds, tags: entry?.tags, updateExpiry: updateExpiry || undefined,
            // A static capture with a problem of the browser was not requested as a static capture.
            mode: mode === "static" && !browserProblem ? mode : undefined,
            captures: captures?.length > 1 ? captures.length : undefined,
        };
        const page = await this.#context.api.json("POST", "pages", { body });
        this.#context.notices.done(
            page.state === "queued" ? "The capture waits for its start." : "The capture has started.");
        this.#onChange(page);
    }

    async #changePin() {
        const { key, entry: { pinned } } = this.#page;
        const entry = await this.#context.api.json(
            "PATCH", `pages/${encodeURIComponent(key)}`, { body: { pinned: !pinned } });
        this.#context.notices.done(
            entry.pinned ? "The page is pinned: it is never evicted." : "The page is unpinned: it can be evicted.");
        this.#onChange({ ...this.#page, entry });
    }

    async #remove() {
        const page = this.#page;
        const { api, notices, signal } = this.#context;
        if (page.entry !== undefined && !await confirmed(
            { title: "Remove this page?", action: "Remove", signal },
            h("p.foreign", {}, plainTitleOf(page)),
            h("p.mono.small", {}, nameOf(page.url, page.key)),
            h("p.small.muted", {}, "All captures of the page are removed. A running capture is cancelled."))) return;
        await api.json("DELETE", `pages/${encodeURIComponent(page.key)}`);
        notices.done(page.entry === undefined ? "The capture was cancelled." : "The page was removed.");
        // The server keeps the state of a cancelled first capture, and tells the end of the capture by an event.
        if (page.entry !== undefined) this.#onChange(null);
    }
}
