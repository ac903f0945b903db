/** The tables of a subscription's resources. */

import { h } from "./dom.js";
import { nameOf, visible } from "./name.js";
import { relativeTime } from "./relative-time.js";

const URL_COLUMN = { label: "URL", name: "name" };
const REASON = { label: "Reason", name: "reason" };

/** Returns the wanted resources as a table. A resource with a copy links to its entry. */
export function itemTable(items, link) {
    const columns = [
        { ...URL_COLUMN, show: ({ url, key, held }) => held
            ? h("a", { href: link("entry", {}, key) }, nameOf(url, key)) : plainName(url) },
        { label: "Copy", name: "state", show: ({ held }) => held
            ? h("span.chip.complete", {}, "held") : h("span.chip.missing", {}, "missing") },
        { label: "Confirmed", name: "number", caption: "confirmed",
            show: ({ confirmedDate }) => confirmedDate === null ? "" : relativeTime(confirmedDate) },
    ];
    const problem = { ...REASON, show: ({ problem }) => problem === null ? "" : reason(problem.reason) };
    const since = { label: "Since", name: "number", caption: "since",
        show: ({ problem }) => problem === null ? "" : relativeTime(problem.since) };
    const hasProblems = items.some(({ problem }) => problem !== null);
    return table("Resources", hasProblems ? [...columns, problem, since] : columns, items);
}

/** Returns the missing resources as a table. */
export function missingTable(resources) {
    return h("div.sheet", {}, table("Missing resources", [
        { ...URL_COLUMN, show: ({ url }) => plainName(url) },
        { ...REASON, show: (missing) => reason(missing.reason ?? "not answered yet") },
        { label: "Since", name: "number", caption: "since",
            show: ({ since }) => since === null ? "" : relativeTime(since) },
    ], resources));
}

function plainName(url) {
    return h("span.resource-url", {}, nameOf(url, url));
}

function reason(text) {
    return h("span.foreign", {}, visible(text));
}

/** The roles are explicit, because screen readers would lose them where the table is not displayed as a table. */
function table(label, columns, rows) {
    return h(
        "table.entries.resources", { role: "table", "aria-label": label },
        h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, ...columns.map((column) => h(
            "th", { class: column.name, role: "columnheader", scope: "col" }, column.label)))),
        h("tbody", { role: "rowgroup" }, ...rows.map((row) => h("tr", { role: "row" }, ...columns.map(
            ({ name, caption, show }) => h("td", { class: name, role: "cell", "data-label": caption }, show(row)))))));
}
