import { fill, h, newId, say } from "./dom.js";
import { nameOf } from "./name.js";
import { TTLField } from "./ttl-field.js";

const MODES = [["auto", "Automatic"], ["rendered", "Rendered"], ["static", "Static"]];
/** The meaning of each mode, for users of the form. */
const HINTS = {
    auto: "In the browser of the server, if it has one.",
    rendered: "Only in the browser of the server.",
    static: "Without the scripts of the page.",
};

/** @param {(page: object) => void} onPage called with the answer, after the capture has started */
export function pageForm({ api, link, signal }, onPage) {
    const url = h("input.mono", {
        id: newId(), type: "url", required: true, placeholder: "https://", autocomplete: "off", spellcheck: "false",
    });
    const hint = h("p.hint", { id: newId() }, HINTS.auto);
    const mode = h(
        "select", { id: newId(), "aria-describedby": hint.id, change: () => say(hint, HINTS[mode.value]) },
        ...MODES.map(([value, text]) => h("option", { value }, text)));
    const ttl = new TTLField("Fresh for", "If empty, the default TTL of the namespace applies.");
    const tags = h("input", { id: newId(), autocomplete: "off", placeholder: "news, sport" });
    const maxSeconds = h("input", {
        id: newId(), type: "number", min: 1, max: 600, step: 1, inputmode: "numeric", placeholder: "60",
    });
    const result = h("div", { role: "status" });
    const submit = h("button.primary", { type: "submit" }, "Capture");

    async function send(event) {
        event.preventDefault();
        if (submit.getAttribute("aria-disabled") === "true") return;
        submit.setAttribute("aria-disabled", "true");
        fill(result);
        const labels = tags.value.split(",").map((tag) => tag.trim()).filter((tag) => tag !== "");
        try {
            const body = {
                url: url.value.trim(), mode: mode.value, ttl: ttl.seconds,
                tags: labels.length > 0 ? labels : undefined,
                maxSeconds: maxSeconds.value === "" ? undefined : maxSeconds.valueAsNumber,
            };
            const page = await api.json("POST", "pages", { body, signal });
            const words = page.state === "queued" ? "The capture waits for its start: " : "The capture has started: ";
            const address = link("page", {}, page.key);
            fill(result, h("p.note.done", {}, words, h("a", { href: address }, nameOf(page.url, page.key))));
            onPage(page);
        } catch (error) {
            if (signal.aborted) return;
            fill(result, h("div.note.failed", {}, h("strong", {}, error.title), h("p.foreign", {}, error.message)));
        }
        submit.removeAttribute("aria-disabled");
    }

    const element = h(
        "form.panel.page-form", { submit: send, "aria-label": "Capture a page" },
        h("h2", {}, "Capture a page"),
        h("div.page-fields", {},
            h("div.field.wide", {}, h("label", { for: url.id }, "URL"), url),
            h("div.field", {}, h("label", { for: mode.id }, "Mode"), mode, hint),
            ttl.element),
        h("details", {}, h("summary", {}, "More options"),
            h("div.options", {},
                h("div.field", {}, h("label", { for: tags.id }, "Tags"), tags),
                h("div.field", {}, h("label", { for: maxSeconds.id }, "Time limit in seconds"), maxSeconds))),
        h("div.actions", {}, submit), result);
    return { element, focus: () => url.focus() };
}
