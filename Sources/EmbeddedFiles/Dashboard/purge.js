/** Purges all entries with a tag, a host or a prefix: counts them, asks for confirmation, and removes them. */

import { confirmed } from "./dialog.js";
import { fill, h, newId } from "./dom.js";
import { failureNote } from "./failure.js";
import { count, counted } from "./format.js";
import { nameOf, visible } from "./name.js";

const FILTERS = {
    tag: { label: "Tag", placeholder: "users", words: (value) => `with the tag ${value}` },
    host: { label: "Host", placeholder: "api.example.com", words: (value) => `of the host ${value}` },
    prefix: {
        label: "Prefix", placeholder: "https://api.example.com/v1/",
        words: (value) => `whose URL or key begins with ${value}`,
    },
};
const POINTS = [
    "Entries are counted first, and removed only after a confirmation.",
    "Removed entries do not come back, even after a crash.",
    "A running download of a removed entry answers its waiting requests, and its body is not stored.",
    "A purge covers only the selected namespace.",
];
/** The most affected entries that are shown before the confirmation. */
const SAMPLE = 5;

export function purgeView(context, { query }) {
    const { api, notices, signal, link } = context;
    let chosen = Object.keys(FILTERS).find((name) => name in query) ?? "tag";

    const input = h("input.mono", {
        id: newId(), required: true, autocomplete: "off", spellcheck: "false", input: forget,
    });
    const label = h("label", { for: input.id });
    const result = h("div.field", { role: "status" });
    const choices = Object.entries(FILTERS).map(([name, filter]) => h(
        "label", {},
        h("input", {
            type: "radio", name: "filter", value: name, checked: name === chosen, change: () => choose(name),
        }),
        h("span", {}, filter.label)));

    function choose(name) {
        chosen = name;
        fill(label, FILTERS[name].label);
        input.placeholder = FILTERS[name].placeholder;
        forget();
    }

    /** Drops the last count, because the input has changed. */
    function forget() {
        fill(result);
    }

    async function look(event) {
        event.preventDefault();
        const filter = { [chosen]: input.value.trim() };
        const words = FILTERS[chosen].words(visible(input.value.trim()));
        fill(result, h("p.muted.small", {}, "Counting …"));
        try {
            const [{ removed }, { entries }] = await Promise.all([
                api.json("DELETE", "entries", { query: { ...filter, dryRun: true }, signal }),
                api.json("GET", "entries", { query: { ...filter, limit: SAMPLE }, signal }),
            ]);
            // The input may have changed since the request.
            if (filter[chosen] === input.value.trim()) showCount(removed, entries, filter, words);
        } catch (error) {
            if (!signal.aborted) fill(result, failureNote("The entries cannot be counted", error));
        }
    }

    function showCount(number, entries, filter, words) {
        const rest = number - entries.length;
        fill(
            result,
            h("p.count", {}, h("strong", {}, count(number)),
                h("span.foreign", {}, `${number === 1 ? "entry" : "entries"} ${words}`)),
            h("ul.sample", {}, ...entries.map(({ key, url }) => h(
                "li", {}, h("a", { href: link("entry", {}, key) }, nameOf(url, key))))),
            rest > 0 && h("p.small", {}, h("a", { href: link("entries", filter) }, `and ${count(rest)} more`)),
            entries.length > 0 && h("div.actions", {}, h(
                "button.danger", { type: "button", click: () => purge(number, filter, words, entries[0].namespace) },
                `Purge ${counted(number, "entry", "entries")}`)));
    }

    async function purge(number, filter, words, namespace) {
        const isWanted = await confirmed(
            { title: `Purge ${counted(number, "entry", "entries")}?`, action: `Purge ${count(number)}`, signal },
            h("p.foreign", {}, `All entries ${words}, in the namespace ${namespace}.`),
            h("p.small.muted", {}, "They do not come back. Matching entries stored after the count are removed, too."));
        if (!isWanted) return;
        try {
            const { removed } = await api.json("DELETE", "entries", { query: filter, signal });
            fill(result, h("p.note.done", {}, `${counted(removed, "entry", "entries")} purged.`));
        } catch (error) {
            if (!signal.aborted) notices.failed("The purge failed", error);
        }
    }

    choose(chosen);
    input.value = query[chosen] ?? "";
    const element = h(
        "div.view", {},
        h("div.view-head", {}, h("h1", { tabindex: -1 }, "Purge")),
        h("div.columns", {}, h(
            "section.panel", {},
            h("form.view", { submit: look },
                h("fieldset", {}, h("legend.visually-hidden", {}, "Filter"),
                    h("div.segments", {}, ...choices)),
                h("div.field", {}, label, input),
                h("div.actions", {}, h("button.primary", { type: "submit" }, "Count"))),
            result),
        h("section.panel", {}, h("h2", {}, "Effects of a purge"), h(
            "ul.points", {}, ...POINTS.map((point) => h("li", {}, point))))));
    return { title: "Purge", element };
}
