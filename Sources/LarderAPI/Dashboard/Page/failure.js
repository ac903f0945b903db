/** How it is said in a view that something could not be had. */

import { fill, h } from "./dom.js";

/**
 * A note with what the server said.
 *
 * @param {string} what was wanted, as `The entries cannot be listed`
 * @param {() => void} again tries once more; without it there is no button for that
 */
export function failureNote(what, error, again) {
    return h(
        "div.note.failed.actions", { role: "alert" },
        h("p.foreign", {}, h("strong", {}, `${what}: `), error.message),
        again && h("button.small", { type: "button", click: again }, "Try again"));
}

/** A place for a failure that may last: it is said once, and not each time that it is found again. */
export class Trouble {
    #what;
    #message = null;

    constructor(what) {
        this.#what = what;
        this.element = h("div");
    }

    /** @param {Error|null} error `null`: there is none */
    show(error) {
        const message = error?.message ?? null;
        if (message === this.#message) return;
        this.#message = message;
        fill(this.element, error && failureNote(this.#what, error));
    }
}
