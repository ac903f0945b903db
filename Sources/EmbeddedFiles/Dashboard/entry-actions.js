import { confirmed } from "./dialog.js";
import { h, say } from "./dom.js";
import { counted } from "./format.js";
import { nameOf } from "./name.js";
import { TTLField } from "./ttl-field.js";

/**
 * Returns the buttons as `{element, show(entry)}`. The context is that of the view, with `path`, the path of the entry,
 * and `onChange`, called with the changed entry, or with `null` once the entry is removed.
 */
export function entryActions({ api, notices, signal, link, path, onChange }) {
    let entry = null;
    const refresh = h("button.primary", { type: "button", click: () => act(refreshNow) }, "Refresh now");
    const pin = h("button", { type: "button", click: () => act(changePin) });
    const remove = h("button.warns", { type: "button", click: () => act(removeIt) }, "Delete");
    const ttl = new TTLField("New TTL, from now");
    const change = h("button", { type: "submit" }, "Change TTL");
    const form = h("form.with-button", { submit: (event) => {
        event.preventDefault();
        act(changeTTL);
    } }, ttl.element, change);
    const buttons = [refresh, pin, remove, change];

    /** Runs one action at a time. Shows the server's message if the action fails. */
    async function act({ words, run }) {
        if (buttons.some((button) => button.getAttribute("aria-disabled") === "true")) return;
        for (const button of buttons) button.setAttribute("aria-disabled", "true");
        try {
            await run();
        } catch (error) {
            if (!signal.aborted) notices.failed(words, error);
        }
        for (const button of buttons) button.removeAttribute("aria-disabled");
    }

    /** Downloads the entry again, and restarts its ttl. The server keeps tags and pin. */
    const refreshNow = {
        words: "The entry was not refreshed",
        async run() {
            const { url, expiresInSeconds } = entry;
            const answer = await api.json("POST", "download", {
                body: { url, ttl: expiresInSeconds, refresh: true }, signal,
            });
            if (answer.entry.key !== entry.key) {
                // The key depends on the URL and on request fields of the first download, which are not stored.
                notices.done("This entry was downloaded with other request fields. Without them, ",
                    h("a", { href: link("entry", {}, answer.entry.key) }, "another entry"), " was downloaded.");
                return;
            }
            const isSame = answer.outcome === "revalidated";
            notices.done(isSame ? "The origin reported no change." : "The entry was downloaded again.");
            onChange(answer.entry);
        },
    };

    const changeTTL = {
        words: "The TTL was not changed",
        async run() {
            const { seconds } = ttl;
            const isKept = entry.kind === "download" || entry.kind === "response";
            if (seconds === 0 && !isKept && !await confirmed(
                { title: "Remove this entry?", action: "Remove", signal },
                h("p", {}, "A TTL of 0 removes this entry, because a caller stored it."))) return;
            const answer = await api.json("PATCH", path, { body: { ttl: seconds }, signal });
            notices.done(answer.removed === undefined ? "The TTL was changed." : "The entry was removed.");
            onChange(answer.removed === undefined ? answer : null);
        },
    };

    const changePin = {
        words: "The pin was not changed",
        async run() {
            const answer = await api.json("PATCH", path, { body: { pinned: !entry.pinned }, signal });
            notices.done(
                answer.pinned ? "The entry is pinned: it is never evicted." : "The entry is unpinned: it can be evicted.");
            onChange(answer);
        },
    };

    const removeIt = {
        words: "The entry was not deleted",
        async run() {
            const isByURL = entry.kind === "download" || entry.kind === "json";
            const others = isByURL
                ? "Responses of /fetch for this URL are deleted, too." : "Only this entry is deleted.";
            if (!await confirmed(
                { title: "Delete this entry?", action: "Delete", signal },
                h("p.mono.small", {}, nameOf(entry.url, entry.key)),
                h("p.small.muted", {}, others))) return;
            const { removed } = await api.json("DELETE", path, { signal });
            notices.done(`${counted(removed, "entry", "entries")} deleted.`);
            onChange(null);
        },
    };

    return {
        element: h("div.view", {}, h("div.actions", {}, refresh, pin, remove), form),
        show(changed) {
            entry = changed;
            refresh.hidden = entry.kind !== "download";
            say(pin, entry.pinned ? "Unpin" : "Pin");
        },
    };
}
