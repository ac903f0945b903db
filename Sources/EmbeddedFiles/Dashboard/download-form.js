import { fill, h, newId } from "./dom.js";
import { bytes, dateTime, latency } from "./format.js";
import { TTLField } from "./ttl-field.js";

const OUTCOMES = {
    cached: "The entry was fresh: the origin was not contacted.",
    downloaded: "The body was downloaded from the origin.",
    revalidated: "The origin reported no change: the entry is fresh again.",
    joined: "A download of this URL was running: this request joined it.",
    stale: "The entry has expired and was returned as the request allows.",
};

export function downloadForm({ api, link, signal }) {
    const url = h("input.mono", {
        id: newId(), type: "url", required: true, placeholder: "https://", autocomplete: "off", spellcheck: "false",
    });
    const ttl = new TTLField("Fresh for", "If empty, the origin sets the TTL, else the default applies.");
    const tags = h("input", { id: newId(), autocomplete: "off", placeholder: "users, admin" });
    const refresh = h("input", { id: newId(), type: "checkbox" });
    const pinned = h("input", { id: newId(), type: "checkbox" });
    const result = h("div", { role: "status" });
    const submit = h("button.primary", { type: "submit" }, "Download");

    async function send(event) {
        event.preventDefault();
        if (submit.getAttribute("aria-disabled") === "true") return;
        // A disabled button would lose the focus of a user who waits for the outcome.
        submit.setAttribute("aria-disabled", "true");
        fill(result, h("p.note", {}, "Downloading …"));
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
                    check(refresh, "Contact the origin even if the entry is fresh"),
                    check(pinned, "Pin the entry, so that it is never evicted")))),
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
        h("p", {}, `${bytes(entry.contentLength)}, `, h("span.foreign", {}, entry.contentType ?? "of unknown type"),
            entry.state === "fresh" ? `, fresh until ${dateTime(entry.expiryDate)}. ` : ", stale. ",
            h("a", { href: link("entry", {}, entry.key) }, "Show entry")));
}
