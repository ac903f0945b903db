/** Messages for failed requests in a view. */

import { fill, h } from "./dom.js";

/**
 * Returns a note with the server's message.
 *
 * @param {string} what the failed task, as `The entries cannot be listed`
 * @param {() => void} again retries; without it the note has no button
 */
export function failureNote(what, error, again) {
    return h(
        "div.note.failed.actions", { role: "alert" },
        h("p.foreign", {}, h("strong", {}, `${what}: `), error.message),
        again && h("button.small", { type: "button", click: again }, "Try again"));
}

/** A place for a lasting failure. A repeated failure is announced only once. */
export class Trouble {
    #what;
    #message = null;

    constructor(what) {
        this.#what = what;
        this.element = h("div");
    }

    /** @param {Error|null} error `null` if there is no failure */
    show(error) {
        const message = error?.message ?? null;
        if (message === this.#message) return;
        this.#message = message;
        fill(this.element, error && failureNote(this.#what, error));
    }
}
