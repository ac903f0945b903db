import { fill, h } from "./dom.js";

/**
 * @param {string} what the failed task, as `The entries cannot be listed`
 * @param {() => void} again retries; without it the note has no button
 */
export function failureNote(what, error, again) {
    return h(
        "div.note.failed.actions", { role: "alert" },
        h("p.foreign", {}, h("strong", {}, `${what}: `), error.message),
        again && h("button.small", { type: "button", click: again }, "Try again"));
}

/** Shows a failure until it ends. Screen readers announce a repeated failure only once. */
export class Trouble {
    #what;
    #message = null;

    constructor(what) {
        this.#what = what;
        this.element = h("div");
    }

    get isShown() { return this.#message !== null; }

    show(error) {
        const message = error?.message ?? null;
        if (message === this.#message) return;
        this.#message = message;
        fill(this.element, error && failureNote(this.#what, error));
    }
}
