import { h } from "./dom.js";
import { bytes, count } from "./format.js";
import { nameOf } from "./name.js";
import { relativeTime } from "./relative-time.js";

/** The columns: their labels, their values, and the server's sort key, if there is one. */
const COLUMNS = [
    { label: "URL or key", name: "name", sort: "url", show: linkTo },
    { label: "State", name: "state", show: ({ state }) => h(`span.chip.${state}`, {}, state) },
    { label: "Kind", name: "kind", show: ({ kind }) => kind },
    { label: "Type", name: "type", show: ({ contentType }) => contentType?.split(";")[0] ?? "" },
    // The server has an index for each other order. For these two orders it looks at every entry.
    { label: "Size", name: "number", sort: "contentLength", isSlow: true, show: (entry) => bytes(entry.contentLength) },
    { label: "Hits", name: "number", sort: "hits", isSlow: true, caption: "hits", show: ({ hits }) => count(hits) },
    { label: "Last hit", name: "number", sort: "lastAccessDate", caption: "last hit", show: lastAccessOf },
    { label: "Expires", name: "number", sort: "expiryDate", caption: "expires", show: expiryOf },
];

/**
 * @param {string} sort the order of the entries, as the API names it
 * @param {(sort: string|null) => void} sortBy called with the order that the user chose; `null` for the default order
 */
export function entryTable(entries, { sort, sortBy, link }) {
    const isDescending = sort.startsWith("-");
    const order = sort.replace("-", "");
    const head = ({ label, name, sort: by, isSlow }) => {
        if (by === undefined) return h("th", { class: name, role: "columnheader", scope: "col" }, label);
        const isCurrent = by === order;
        const arrow = h("span.arrow", { "aria-hidden": "true" }, !isCurrent ? "↕" : isDescending ? "↓" : "↑");
        // The order cycles: ascending, descending, default.
        const next = !isCurrent ? by : isDescending ? null : `-${by}`;
        return h(
            "th", {
                class: name, role: "columnheader", scope: "col",
                "aria-sort": isCurrent ? (isDescending ? "descending" : "ascending") : null,
            },
            h("button.quiet", {
                type: "button", title: isSlow ? "Reads every entry: slow in a large cache" : null,
                click: () => sortBy(next),
            }, label, arrow));
    };
    // On a phone the table is not displayed as a table and would lose its roles for screen readers, so they are
    // explicit.
    return h(
        "table.entries", { role: "table", "aria-label": "Entries" },
        h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, ...COLUMNS.map(head))),
        h("tbody", { role: "rowgroup" }, ...entries.map((entry) => h(
            "tr", { role: "row" }, ...COLUMNS.map(({ name, caption, show }) => h(
                "td", { class: name, role: "cell", "data-label": caption }, show(entry, link)))))));
}

function linkTo({ key, url, pinned }, link) {
    return h(
        "span", {}, h("a", { href: link("entry", {}, key) }, nameOf(url, key)),
        pinned && h("span.chip.pinned", {}, "pinned"));
}

function lastAccessOf({ lastAccessDate }) {
    return lastAccessDate === null ? "never" : relativeTime(lastAccessDate);
}

function expiryOf({ expiryDate }) {
    return relativeTime(expiryDate);
}
