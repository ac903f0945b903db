/** One entry: its metadata, its freshness, a preview of its body, and its actions. */

import { fill, h } from "./dom.js";
import { entryActions } from "./entry-actions.js";
import { failureNote } from "./failure.js";
import { bytes, count, counted, dateTime, latency } from "./format.js";
import { Freshness } from "./freshness.js";
import { nameOf, visible } from "./name.js";
import { showPreview } from "./preview.js";

export function entryView(context, { key }) {
    const { api, activity, signal, link } = context;
    const path = `entries/${encodeURIComponent(key)}`;
    let entry = null;
    /** The last shown entry. It stays here after its removal, because an action and an event may both report the removal. */
    let last = null;
    let looking = new AbortController();
    let isLoading = false;
    let isDue = false;
    /** Whether an action changed the entry after the running request began, so that the answer may be outdated. */
    let isOutdated = false;

    const name = h("h1.entry-name", { tabindex: -1 }, nameOf(null, key));
    const chips = h("div.chips");
    const facts = h("dl.facts");
    const body = h("div.field");
    const freshness = new Freshness(signal, load);
    const actions = entryActions({
        ...context, path,
        onChange(changed) {
            isOutdated = true;
            if (isLoading) isDue = true;
            if (changed === null) {
                showRemoved();
            } else {
                show(changed);
            }
        },
    });
    const columns = h(
        "div.columns.entry", { hidden: true },
        h("section.panel", {}, freshness.element, actions.element),
        h("section.panel.entry-body", {}, h("div.panel-head", {}, h("h2", {}, "Body"),
            h("p.muted.small", {}, "The preview counts as a hit.")), body),
        h("section.panel", {}, h("h2", {}, "Metadata"), facts));
    const trouble = h("div");

    /** Loads the entry, one request at a time, so that no older answer comes last. */
    async function load() {
        isDue = true;
        if (isLoading) return;
        isLoading = true;
        while (isDue && !signal.aborted) {
            isDue = false;
            isOutdated = false;
            await look();
        }
        isLoading = false;
    }

    async function look() {
        try {
            const found = await api.json("GET", path, { signal });
            if (!isOutdated) show(found);
        } catch (error) {
            if (signal.aborted || isOutdated) return;
            if (error.status === 404) showRemoved();
            else fill(trouble, failureNote("The entry cannot be read", error, load));
        }
    }

    function show(changed) {
        const isOther = entry?.digest !== changed.digest || entry?.contentType !== changed.contentType;
        entry = changed;
        last = changed;
        fill(trouble);
        fill(name, nameOf(entry.url, entry.key));
        fill(chips, h(`span.chip.${entry.state}`, {}, entry.state), kindOf(entry, link),
            entry.pinned && h("span.chip.pinned", {}, "pinned"),
            ...entry.tags.map((tag) => h("a.chip.foreign", { href: link("entries", { tag }) }, visible(tag))));
        fill(facts, ...factsOf(entry).flatMap(([term, value]) => [h("dt", {}, term), h("dd.foreign", {}, value)]));
        freshness.show(entry);
        actions.show(entry);
        columns.hidden = false;
        if (!isOther) return;
        looking.abort();
        looking = new AbortController();
        showPreview(body, entry, api, AbortSignal.any([signal, looking.signal]));
    }

    function showRemoved() {
        looking.abort();
        columns.hidden = true;
        fill(chips);
        const { hostname: host } = URL.parse(last?.url ?? "") ?? {};
        fill(trouble, h(
            "p.note", {}, last === null ? "No entry has this key. " : "The entry is no longer in the cache. ",
            h("a", { href: link("entries", { host }) }, "Other entries")));
        entry = null;
    }

    activity.addEventListener("entry", ({ detail }) => { if ((detail.key ?? key) === key) load(); }, { signal });
    load();
    const element = h(
        "div.view", {},
        h("div.view-head", {}, h("a.small", { href: link("entries") }, "Entries")), name, chips, trouble, columns);
    return { title: "Entry", element };
}

/** Returns the kind; that of a page leads to the page. */
function kindOf({ kind, key }, link) {
    return kind === "page" ? h("a.chip", { href: link("page", {}, key) }, kind) : h("span.chip", {}, kind);
}

/** Returns the known facts in words. Unknown facts are left out. */
function factsOf(entry) {
    const time = (text) => text && h("time", { datetime: text }, dateTime(text));
    const code = (text) => text && h("code", {}, text);
    const { downloadStartDate: start, downloadEndDate: end } = entry;
    const took = start && latency((Date.parse(end) - Date.parse(start)) / 1000);
    return [
        ["Key", code(entry.key)],
        ["Namespace", entry.namespace],
        ["Params", entry.params && code(JSON.stringify(entry.params))],
        ["Final URL", entry.finalUrl === entry.url ? null : code(entry.finalUrl)],
        ["File name", entry.fileName],
        ["Status", entry.status],
        ["Type", entry.contentType],
        ["Length", `${bytes(entry.contentLength)} (${counted(entry.contentLength, "byte")})`],
        ["Digest", code(entry.digest)],
        ["ETag", code(entry.etag)],
        ["Last-Modified", entry.lastModified],
        ["Downloaded", start && h("span", {}, time(start), `, in ${took}`)],
        ["Hits", count(entry.hits)],
        ["Last hit", time(entry.lastAccessDate)],
        ["Expires", time(entry.expiryDate)],
        ["Tags", entry.tags.join(", ") || null],
        ["File", entry.localPath === null ? "in the slab" : code(entry.localPath)],
    ].filter(([, value]) => value !== null);
}
