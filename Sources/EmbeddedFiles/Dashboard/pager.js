/** The way through a list that the server divides into parts, each with the cursor of the next part. */

import { h, say } from "./dom.js";

export class Pager {
    #addressOf;
    /** The preceding cursor for each cursor. Only parts that the user has come from are known. */
    #before = new Map();
    #place = h("p.place.muted", { role: "status" });
    #previous = h("a.button", { role: "link" }, "Previous");
    #next = h("a.button", { role: "link" }, "Next");

    /**
     * @param {(cursor: string|null) => string} addressOf returns the address of a part; `null` for the first part
     * @param {() => void} reload
     * @param {...Node} controls shown before the button that reloads the part
     */
    constructor(label, addressOf, reload, ...controls) {
        this.#addressOf = addressOf;
        this.element = h(
            "nav.pager", { "aria-label": label }, this.#place, ...controls,
            h("button", { type: "button", click: reload }, "Reload"), this.#previous, this.#next);
    }

    /**
     * Links to the previous and the next part. If there is no such part, its link has no address.
     *
     * @param {string|null} cursor the cursor of the shown part; `null` for the first part
     * @param {string|null} nextCursor `null` for the last part
     * @param {string} words the number of shown elements
     */
    show(cursor, nextCursor, words) {
        if (nextCursor !== null) this.#before.set(nextCursor, cursor);
        lead(this.#previous, cursor === null ? null : this.#addressOf(this.#before.get(cursor) ?? null));
        say(this.#previous, cursor === null || this.#before.has(cursor) ? "Previous" : "First page");
        lead(this.#next, nextCursor === null ? null : this.#addressOf(nextCursor));
        say(this.#place, words);
    }
}

function lead(link, address) {
    if (address === null) {
        link.removeAttribute("href");
        link.setAttribute("aria-disabled", "true");
    } else {
        link.href = address;
        link.removeAttribute("aria-disabled");
    }
}
