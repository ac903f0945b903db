/** The filters of a list. The server applies them. */

import { h, newId } from "./dom.js";

/**
 * @param {string} label the name of the list
 * @param {{name: string, label: string, placeholder?: string, options?: string[][], isWide?: boolean}[]} plan the
 *     filters, named as in the API; a filter with `options`, pairs of a value and its label, is a menu
 * @param {(filters: object) => void} onChange called with all filters; `null` for an unset filter
 */
export function filterForm(label, plan, onChange) {
    const fields = plan.map((filter) => ({ name: filter.name, ...(filter.options ? choice : field)(filter) }));
    const submit = (event) => {
        event?.preventDefault();
        onChange(Object.fromEntries(fields.map(({ name, input }) => [name, input.value.trim() || null])));
    };
    for (const { input } of fields) if (input.tagName === "SELECT") input.addEventListener("change", () => submit());
    const element = h(
        "form.panel", { role: "search", "aria-label": label, submit },
        h("div.filters", {}, ...fields.map((each) => each.element),
            h("div.actions", {},
                h("button.primary", { type: "submit" }, "Search"),
                h("button.quiet", { type: "button", click: clear }, "Clear"))));

    function clear() {
        for (const { input } of fields) input.value = "";
        submit();
    }

    return {
        element,
        show(query) {
            for (const { name, input } of fields) input.value = query[name] ?? "";
        },
    };
}

function field({ label, placeholder, isWide }) {
    const input = h("input", { id: newId(), type: "search", placeholder, autocomplete: "off", spellcheck: "false" });
    return { input, element: labelled(label, input, isWide) };
}

function choice({ label, options, isWide }) {
    const input = h("select", { id: newId() }, ...options.map(([value, text]) => h("option", { value }, text)));
    return { input, element: labelled(label, input, isWide) };
}

function labelled(label, input, isWide = false) {
    return h(isWide ? "div.field.wide" : "div.field", {}, h("label", { for: input.id }, label), input);
}
