/** The list of all entries. The server filters, sorts and pages, because it can do so among a million entries. */

import { fill, h, say } from "./dom.js";
import { entryTable } from "./entry-table.js";
import { failureNote } from "./failure.js";
import { filterForm } from "./filter-form.js";
import { count, counted } from "./format.js";

const SIZES = [25, 50, 100, 250];
const USUAL = 50;

export function entriesView(context, route) {
    const { api, signal, link, go } = context;
    /** The preceding cursor for each cursor. Only pages that the user has come from are known. */
    const before = new Map();
    let query = route.query;
    let asking = new AbortController();

    const total = h("p.muted.small");
    const sheet = h("div.sheet", { tabindex: -1, "aria-busy": "true" });
    const place = h("p.place.muted", { role: "status" });
    const previous = h("a.button", { role: "link" }, "Previous");
    const next = h("a.button", { role: "link" }, "Next");
    const size = h(
        "select", { "aria-label": "Entries a page", change: () => go(address({ limit: size.value, cursor: null })) },
        ...SIZES.map((number) => h("option", { value: number }, `${number} a page`)));
    const form = filterForm((filters) => go(address({ ...filters, cursor: null })));

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
            showWay(null);
            say(place, "");
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
        if (nextCursor !== null) before.set(nextCursor, query.cursor ?? null);
        showWay(nextCursor);
        say(place, `${counted(entries.length, "entry", "entries")} on this page`
            + (nextCursor === null ? ", the last" : ""));
    }

    /** Links to the previous and the next page. If there is no such page, its link has no address. */
    function showWay(nextCursor) {
        const isFirst = query.cursor === undefined;
        lead(previous, isFirst ? null : address({ cursor: before.get(query.cursor) ?? null }));
        say(previous, isFirst || before.has(query.cursor) ? "Previous" : "First page");
        lead(next, nextCursor === null ? null : address({ cursor: nextCursor }));
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
        form.element, sheet,
        h("nav.pager", { "aria-label": "Pages" }, place, size,
            h("button", { type: "button", click: show }, "Reload"), previous, next));
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

function lead(link, address) {
    if (address === null) {
        link.removeAttribute("href");
        link.setAttribute("aria-disabled", "true");
    } else {
        link.href = address;
        link.removeAttribute("aria-disabled");
    }
}
