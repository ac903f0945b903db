/** How it is said in a view that something could not be had. */

import { h } from "./dom.js";

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
