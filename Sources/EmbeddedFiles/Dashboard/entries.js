/** The list of all entries. The server filters, sorts and pages, because it can do so among a million entries. */

import { fill, h, say } from "./dom.js";
import { entryTable } from "./entry-table.js";
import { failureNote } from "./failure.js";
import { filterForm } from "./filter-form.js";
import { count, counted } from "./format.js";
import { Pager } from "./pager.js";

const SIZES = [25, 50, 100, 250];
const USUAL = 50;
/** The server has an index for each of these filters. */
const FILTERS = [
    { name: "prefix", label: "URL or key begins with", placeholder: "https://api.example.com/", isWide: true },
    { name: "host", label: "Host", placeholder: "api.example.com" },
    { name: "tag", label: "Tag", placeholder: "users" },
    { name: "state", label: "State", options: [["", "Any"], ["fresh", "Fresh"], ["stale", "Stale"]] },
    {
        name: "kind", label: "Kind", options: [
            ["", "Any"], ["download", "Download"], ["json", "JSON"], ["data", "Data"], ["response", "Response"],
            ["page", "Page"],
        ],
    },
];

export function entriesView(context, route) {
    const { api, signal, link, go } = context;
    let query = route.query;
    let asking = new AbortController();

    const total = h("p.muted.small");
    const sheet = h("div.sheet", { tabindex: -1, "aria-busy": "true" });
    const size = h(
        "select", { "aria-label": "Entries a page", change: () => go(address({ limit: size.value, cursor: null })) },
        ...SIZES.map((number) => h("option", { value: number }, `${number} a page`)));
    const form = filterForm("Entries", FILTERS, (filters) => go(address({ ...filters, cursor: null })));
    const pager = new Pager("Pages", (cursor) => address({ cursor }), show, size);

    function address(changes) {
        return link("entries", { ...query, ...changes });
    }

    async function show() {
        asking.abort();
        asking = new AbortController();
        const either = AbortSignal.any([signal, asking.signal]);
        form.show(query);
        size.value = SIZES.includes(Number(query.limit)) ? query.limit : USUAL;
        sheet.setAttribute("aria-busy", "true");
        try {
            const page = await api.json("GET", "entries", { query: { limit: USUAL, ...query }, signal: either });
            showPage(page);
        } catch (error) {
            if (either.aborted) return;
            fill(sheet, failureNote("The entries cannot be listed", error, show));
            pager.show(query.cursor ?? null, null, "");
        }
        sheet.removeAttribute("aria-busy");
    }

    function showPage({ entries, nextCursor = null }) {
        // The table is created anew. The head that the user sorted by gets the focus again.
        const column = [...sheet.querySelectorAll("th")].findIndex((head) => head.contains(document.activeElement));
        const sortBy = (sort) => go(address({ sort, cursor: null }));
        fill(sheet, entries.length > 0
            ? entryTable(entries, { sort: query.sort ?? "key", sortBy, link })
            : h("p.empty", {}, query.cursor === undefined ? "No entries match." : "No more entries."));
        sheet.querySelectorAll("th")[column]?.querySelector("button").focus();
        pager.show(
            query.cursor ?? null, nextCursor,
            `${counted(entries.length, "entry", "entries")} on this page${nextCursor === null ? ", the last" : ""}`);
    }

    async function showTotal() {
        try {
            const { entries } = await api.json("GET", `namespaces/${api.namespace ?? "default"}`, { signal });
            say(total, `${count(entries)} in this namespace`);
        } catch {
            // The heading shows no total if the user may not read it.
        }
    }

    show();
    showTotal();
    const element = h(
        "div.view", {},
        h("div.view-head", {}, h("h1", { tabindex: -1 }, "Entries"), total),
        form.element, sheet, pager.element);
    return {
        title: "Entries",
        element,
        update(changed) {
            // The focus moves to the beginning of a new page.
            if (changed.cursor !== query.cursor) sheet.focus();
            query = changed;
            show();
        },
    };
}
