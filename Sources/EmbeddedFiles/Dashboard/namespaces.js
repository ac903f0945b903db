import { fill, h, newId } from "./dom.js";
import { failureNote } from "./failure.js";
import { bytes, count, duration } from "./format.js";
import { addressOf } from "./router.js";

export function namespacesView(context) {
    const { api, signal } = context;
    const list = h("div.namespaces", { "aria-busy": "true" });
    const other = h("div");

    async function show() {
        try {
            const { namespaces } = await api.json("GET", "namespaces", { signal });
            fill(list, ...namespaces.map((namespace) => panel(namespace, api.namespace ?? "default")));
        } catch (error) {
            if (signal.aborted) return;
            fill(list, failureNote("The namespaces cannot be listed", error));
            fill(other, nameForm());
        }
        list.removeAttribute("aria-busy");
    }

    show();
    const element = h(
        "div.view", {}, h("div.view-head", {}, h("h1", { tabindex: -1 }, "Namespaces")), list, other);
    return { title: "Namespaces", element };
}

function panel(namespace, current) {
    const { name, version, defaultTTL, layout, origins, entries } = namespace;
    const isCurrent = name === current;
    return h(
        "section.panel.namespace", { "aria-current": isCurrent ? "true" : null },
        h("div.panel-head", {}, h("h2", {}, name),
            isCurrent ? h("span.chip.running", {}, "current") : h("a.small", { href: addressIn(name) }, "Select")),
        quota("Disk", namespace.diskBytes, namespace.diskLimit),
        quota("Memory", namespace.memoryBytes, namespace.memoryLimit),
        h("dl.facts", {}, ...[
            ["Entries", count(entries)], ["Version", version ?? "none"], ["Default TTL", duration(defaultTTL)],
            ["Layout", layout], ["Origins", origins?.join(", ") ?? "all that the server allows"],
        ].flatMap(([term, value]) => [h("dt", {}, term), h("dd.foreign", {}, value)])));
}

function addressIn(name) {
    return addressOf({ view: "entries", namespace: name === "default" ? null : name });
}

function quota(label, used, limit) {
    return h(
        "div.quota", {},
        h("div", {}, h("span", {}, label), h("span.muted", {}, `${bytes(used)} of ${bytes(limit)}`)),
        h("progress.thin", {
            max: 1, value: limit > 0 ? used / limit : 0, "aria-label": `${label}, share of the limit`,
        }));
}

/** A form for users who may not list the namespaces, but know the name of a namespace. */
function nameForm() {
    const input = h("input", { id: newId(), required: true, pattern: "[a-z0-9\\-]{1,63}", autocomplete: "off" });
    return h(
        "form.panel", { submit: (event) => {
            event.preventDefault();
            location.hash = addressIn(input.value);
        } },
        h("div.field", {}, h("label", { for: input.id }, "Namespace name"), input),
        h("div.actions", {}, h("button.primary", { type: "submit" }, "Select")));
}
