import { h, newId } from "./dom.js";

/** Asks for confirmation before an action that cannot be undone. The signal closes the dialog when its view ends. */
export function confirmed({ title, action, signal }, ...content) {
    return ask({ title, content, action, signal, kind: "danger", isAlert: true, read: () => true });
}

/** @param {string} why the reason why the last token was refused; empty if there was none */
export function askForToken(why) {
    const id = newId();
    const reason = why === "" ? null : h("p.note.failed.foreign", { id: `${id}-why` }, why);
    // The token exists only as the property `value`. An attribute could be read from the document.
    const input = h("input.mono", {
        id, type: "password", autocomplete: "off", spellcheck: "false", required: true,
        // A header field cannot contain other characters, so the page could not send such a token.
        pattern: "\\s*[!-~]+\\s*", title: "A token has only ASCII letters, digits and punctuation",
        "aria-describedby": reason === null ? null : `${id}-why`, "aria-invalid": reason === null ? null : "true",
    });
    return ask({
        title: "This server needs a token",
        content: [
            h("p.small.muted", {}, "The token stays in the memory of this page until the page is closed or reloaded. ",
                h("code", {}, "larder token create"), " creates a token."),
            reason,
            h("div.field", {}, h("label", { for: id }, "Token"), input),
        ],
        action: "Sign in", kind: "primary", isAlert: false, isNeeded: true,
        read: () => {
            const token = input.value.trim();
            input.value = "";
            return token;
        },
    });
}

/** Shows a dialog. The answer is the result of `read`, or `false` if the dialog closes without a submit. */
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
            // After two attempts to leave, browsers close the dialog despite the prevented default.
            if (isNeeded && answer === false) return dialog.showModal();
            dialog.remove();
            resolve(answer);
        });
        signal?.addEventListener("abort", () => dialog.close());
        document.body.append(dialog);
        dialog.showModal();
    });
}
