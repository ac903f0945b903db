import { fill, h } from "./dom.js";
import { bytes, count } from "./format.js";
import { nameOf, visible } from "./name.js";

/** The resources that are shown at first. A capture has at most 10,000. */
const SHOWN = 100;
const COLUMNS = [
    { label: "URL", name: "name", show: ({ url }) => h("span.resource-url", {}, nameOf(url, url)) },
    { label: "Kind", name: "kind", show: ({ kind }) => kind },
    { label: "Status", name: "number", show: ({ status }) => status ?? "" },
    { label: "Type", name: "type", show: ({ contentType }) => visible(contentType?.split(";")[0] ?? "") },
    { label: "Size", name: "number", show: ({ contentLength: length }) => length === null ? "" : bytes(length) },
];
const REASON = { label: "Reason", name: "reason", show: ({ reason }) => h("span.foreign", {}, visible(reason ?? "")) };

/** Returns the resources of a capture as a table, at first only the beginning of a long list. */
export function resourceTable(label, resources) {
    // The reason says more about a missing resource than the facts that it lacks.
    const columns = resources.every(({ reason }) => reason !== undefined)
        ? [...COLUMNS.slice(0, 3), REASON] : resources.some(({ reason }) => reason !== undefined)
            ? [...COLUMNS, REASON] : COLUMNS;
    const row = (resource) => h(
        "tr", { role: "row" },
        ...columns.map(({ name, show }) => h("td", { class: name, role: "cell" }, show(resource))));
    const body = h("tbody", { role: "rowgroup" }, ...resources.slice(0, SHOWN).map(row));
    // On a phone the table is not displayed as a table and would lose its roles for screen readers, so they are
    // explicit.
    const table = h(
        "table.entries.resources", { role: "table", "aria-label": label },
        h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, ...columns.map((column) => h(
            "th", { class: column.name, role: "columnheader", scope: "col" }, column.label)))),
        body);
    const rest = h("div.actions");
    const showAll = () => {
        body.append(...resources.slice(SHOWN).map(row));
        fill(rest);
        body.children[SHOWN].scrollIntoView({ block: "nearest" });
    };
    if (resources.length > SHOWN) {
        fill(rest, h("button.small", { type: "button", click: showAll }, `Show all ${count(resources.length)}`));
    }
    return h("div.field", {}, h("div.sheet", {}, table), rest);
}
