/** A form that downloads a URL through the cache, and shows the outcome. */

import { fill, h, newId } from "./dom.js";
import { bytes, dateTime, latency } from "./format.js";
import { TTLField } from "./ttl-field.js";

const OUTCOMES = {
    cached: "It was held and fresh: the origin was not asked.",
    downloaded: "It was fetched from the origin.",
    revalidated: "The origin says that it has not changed: what was held is fresh again.",
    joined: "It was being fetched already: this call waited for that.",
    stale: "What is held has expired, and was the answer all the same.",
};

/** Returns the form with the outcome below it. */
export function downloadForm({ api, link, signal }) {
    const url = h("input.mono", {
        id: newId(), type: "url", required: true, placeholder: "https://", autocomplete: "off", spellcheck: "false",
    });
    const ttl = new TTLField("Fresh for", "Empty: as the origin says, else the default.");
    const tags = h("input", { id: newId(), autocomplete: "off", placeholder: "users, admin" });
    const refresh = h("input", { id: newId(), type: "checkbox" });
    const pinned = h("input", { id: newId(), type: "checkbox" });
    const result = h("div", { role: "status" });
    const submit = h("button.primary", { type: "submit" }, "Get it");

    async function send(event) {
        event.preventDefault();
        if (submit.getAttribute("aria-disabled") === "true") return;
        // A disabled button would lose the focus of a user who waits for the outcome.
        submit.setAttribute("aria-disabled", "true");
        fill(result, h("p.note", {}, "Waiting for it …"));
        const labels = tags.value.split(",").map((tag) => tag.trim()).filter((tag) => tag !== "");
        const begin = performance.now();
        try {
            const body = {
                url: url.value.trim(), ttl: ttl.seconds, tags: labels.length > 0 ? labels : undefined,
                refresh: refresh.checked || undefined, pinned: pinned.checked || undefined,
            };
            const answer = await api.json("POST", "download", { body, signal });
            fill(result, success(answer, (performance.now() - begin) / 1000, link));
        } catch (error) {
            if (signal.aborted) return;
            fill(result, h("div.note.failed", {}, h("strong", {}, error.title), h("p.foreign", {}, error.message)));
        }
        submit.removeAttribute("aria-disabled");
    }

    return h(
        "form.download-form", { submit: send },
        h("div.field", {}, h("label", { for: url.id }, "URL"), url),
        ttl.element,
        h("details", {}, h("summary", {}, "More options"),
            h("div.options", {},
                h("div.field", {}, h("label", { for: tags.id }, "Tags"), tags),
                h("div.field", {},
                    check(refresh, "Ask the origin even when it is fresh"),
                    check(pinned, "Keep it when room is needed")))),
        h("div.actions", {}, submit), result);
}

function check(input, words) {
    return h("div.check", {}, input, h("label", { for: input.id }, words));
}

function success({ outcome, entry }, seconds, link) {
    return h(
        "div.note.done", {},
        h("p", {}, h("strong", {}, `${outcome[0].toUpperCase()}${outcome.slice(1)}`), ` in ${latency(seconds)}. `,
            OUTCOMES[outcome]),
        h("p", {}, `${bytes(entry.contentLength)}, `, h("span.foreign", {}, entry.contentType ?? "of no type"),
            entry.state === "fresh" ? `, fresh until ${dateTime(entry.expiryDate)}. ` : ", stale. ",
            h("a", { href: link("entry", {}, entry.key) }, "Look at it")));
}
