/** The filters of the list of entries. The server applies them, and has an index for each. */

import { h, newId } from "./dom.js";

const STATES = [["", "Any"], ["fresh", "Fresh"], ["stale", "Stale"]];
const KINDS = [["", "Any"], ["download", "Download"], ["json", "JSON"], ["data", "Data"], ["response", "Response"]];
const NAMES = ["prefix", "host", "tag", "state", "kind"];

/** @param {(filters: object) => void} onChange called with all filters; `null` for an unset filter */
export function filterForm(onChange) {
    const fields = {
        prefix: field("URL or key begins with", "https://api.example.com/"),
        host: field("Host", "api.example.com"),
        tag: field("Tag", "users"),
        state: choice("State", STATES),
        kind: choice("Kind", KINDS),
    };
    const submit = (event) => {
        event?.preventDefault();
        onChange(Object.fromEntries(NAMES.map((name) => [name, fields[name].input.value.trim() || null])));
    };
    for (const name of ["state", "kind"]) fields[name].input.addEventListener("change", () => submit());
    const element = h(
        "form.panel", { role: "search", "aria-label": "Entries", submit },
        h("div.filters", {}, ...NAMES.map((name) => fields[name].element),
            h("div.actions", {},
                h("button.primary", { type: "submit" }, "Search"),
                h("button.quiet", { type: "button", click: clear }, "Clear"))));
    fields.prefix.element.classList.add("wide");

    function clear() {
        for (const name of NAMES) fields[name].input.value = "";
        submit();
    }

    return {
        element,
        show(query) {
            for (const name of NAMES) fields[name].input.value = query[name] ?? "";
        },
    };
}

function field(label, placeholder) {
    const input = h("input", { id: newId(), type: "search", placeholder, autocomplete: "off", spellcheck: "false" });
    return { input, element: h("div.field", {}, h("label", { for: input.id }, label), input) };
}

function choice(label, options) {
    const input = h("select", { id: newId() }, ...options.map(([value, text]) => h("option", { value }, text)));
    return { input, element: h("div.field", {}, h("label", { for: input.id }, label), input) };
}
