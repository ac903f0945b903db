/** Questions that come before anything else. */

import { h, newId } from "./dom.js";

/**
 * Asks before something is done that cannot be undone.
 *
 * @param {string} title the question
 * @param {string} action what the button says that does it
 * @param {AbortSignal} signal closes the dialog: the view that asked is gone
 * @param {...(Node|string)} content what there is to know
 * @returns {Promise<boolean>} whether it is to be done
 */
export function confirmed({ title, action, signal }, ...content) {
    return ask({ title, content, action, signal, kind: "danger", isAlert: true, read: () => true });
}

/**
 * Asks for a token.
 *
 * @param {string} why the last one was not good; empty when there was none
 * @returns {Promise<string>}
 */
export function askForToken(why) {
    const id = newId();
    const reason = why === "" ? null : h("p.note.failed.foreign", { id: `${id}-why` }, why);
    // It goes by the property alone: an attribute could be read from the document.
    const input = h("input.mono", {
        id, type: "password", autocomplete: "off", spellcheck: "false", required: true,
        // What no field of a request can have would not even be refused by the server.
        pattern: "\\s*[!-~]+\\s*", title: "A token has letters, digits and signs, all of them ASCII",
        "aria-describedby": reason === null ? null : `${id}-why`, "aria-invalid": reason === null ? null : "true",
    });
    return ask({
        title: "This server asks for a token",
        content: [
            h("p.small.muted", {}, "It stays in the memory of this page, and goes when that is closed or loaded anew. ",
                h("code", {}, "larder token create"), " makes one."),
            reason,
            h("div.field", {}, h("label", { for: id }, "Token"), input),
        ],
        action: "Use it", kind: "primary", isAlert: false, isNeeded: true,
        read: () => {
            const token = input.value.trim();
            input.value = "";
            return token;
        },
    });
}

/** Shows a dialog; `read` says what the answer is, which without one is `false`. */
function ask({ title, content, action, signal, kind, isAlert, isNeeded = false, read }) {
    const heading = newId();
    const cancel = h("button", { type: "button", autofocus: true, click: () => dialog.close() }, "Cancel");
    const form = h(
        "form", { method: "dialog" }, h("h2", { id: heading }, title), ...content.filter((part) => part !== null),
        h("div.actions", {}, isNeeded ? null : cancel, h(`button.${kind}`, { type: "submit" }, action)));
    const dialog = h("dialog", { "aria-labelledby": heading, role: isAlert ? "alertdialog" : null }, form);
    return new Promise((resolve) => {
        let answer = false;
        form.addEventListener("submit", () => { answer = read(); });
        dialog.addEventListener("cancel", (event) => { if (isNeeded) event.preventDefault(); });
        dialog.addEventListener("close", () => {
            // The browser lets it go after two tries to leave, however it is needed.
            if (isNeeded && answer === false) return dialog.showModal();
            dialog.remove();
            resolve(answer);
        });
        signal?.addEventListener("abort", () => dialog.close());
        document.body.append(dialog);
        dialog.showModal();
    });
}
