/** One captured page: its captures, its missing resources with the reasons, all resources, and the actions. */

import { fill, h } from "./dom.js";
import { failureNote } from "./failure.js";
import { bytes, count, counted, dateTime, duration, latency } from "./format.js";
import { Freshness } from "./freshness.js";
import { nameOf, visible } from "./name.js";
import { PageActions } from "./page-actions.js";
import { followPages } from "./page-updates.js";
import { CaptureProgress, chipsOf, sizeOf, titleOf } from "./page-words.js";
import { afterEvent, isRunning } from "./pages-model.js";
import { resourceTable } from "./resource-table.js";
import { Screenshot } from "./screenshot.js";

export function pageView(context, { key, query }) {
    const { api, signal, link } = context;
    /** The number of the selected capture; `null` for the newest. */
    const number = query.capture ?? null;
    let page = null;
    /** Whether the page was shown. An action and an event may both report its removal. */
    let wasShown = false;
    /** The shown capture, and the controller that ends the request for its resources. */
    let shown = null;
    let asking = new AbortController();

    const name = h("h1", { tabindex: -1 }, nameOf(null, key));
    const url = h("p.mono.small.page-url");
    const chips = h("div.chips");
    const trouble = h("div");
    const notes = h("div.view");
    const progress = new CaptureProgress();
    const screenshot = new Screenshot(api, signal);
    const freshness = new Freshness(signal, () => load(key));
    const actions = new PageActions(context, {
        names: ["open", "again", "warc", "wacz", "pin", "remove"], capture: number,
        onChange(changed) {
            if (changed === null) return showRemoved();
            show(changed);
            // An event may have been faster than the answer to a new capture.
            load(key);
        },
    });
    const captures = h("ul.captures");
    const facts = h("dl.facts");
    const missing = h("section.panel", { hidden: true });
    const resources = h("section.panel", { hidden: true });
    const stored = h("section.panel", {}, h("h2", {}, "Captures"), captures);
    const metadata = h("section.panel", {}, h("h2", {}, "Metadata"), facts);
    const columns = h(
        "div.columns.page", { hidden: true },
        h("section.panel.page-side", {}, screenshot.element, actions.element, progress.element, freshness.element),
        h("div.view.page-side", {}, stored, metadata),
        h("div.view.page-body", {}, missing, resources));

    const load = followPages(context, {
        isKnown: (other) => other === key,
        running: () => page !== null && isRunning(page) ? [key] : [],
        onEvent(event) {
            if (event.key === key && page !== null) show(afterEvent(page, event));
        },
        onPage: show,
        onGone: showRemoved,
        onReset: () => load(key),
        onTrouble: (error) => fill(trouble, failureNote("The page cannot be read", error, () => load(key))),
    });

    function show(changed) {
        page = changed;
        wasShown = true;
        fill(trouble);
        columns.hidden = false;
        fill(name, titleOf(page));
        fill(url, page.title && nameOf(page.url, page.key));
        fill(chips, ...chipsOf(page), page.missing > 0 && missingChip(page), ...(page.entry?.tags ?? []).map((tag) => h(
            "a.chip.foreign", { href: link("pages", { tag }) }, visible(tag))));
        progress.show(page);
        freshness.element.hidden = page.entry === undefined;
        if (page.entry !== undefined) freshness.show(page.entry);
        actions.show(page);
        // Events change only the members above and the last capture.
        const capture = selected();
        fill(notes, ...notesOf(page, capture));
        stored.hidden = !(page.captures?.length > 0);
        metadata.hidden = stored.hidden;
        fill(captures, ...(page.captures ?? []).map(captureRow));
        fill(facts, ...(capture === null ? [] : factsOf(page, capture, link))
            .flatMap(([term, value]) => [h("dt", {}, term), h("dd.foreign", {}, value)]));
        if (capture?.number === shown?.number) return;
        shown = capture;
        showContents();
    }

    /** Returns the selected capture; `null` if the page does not have it. */
    function selected() {
        const all = page.captures ?? [];
        return (number === null ? all[0] : all.find((capture) => String(capture.number) === number)) ?? null;
    }

    async function showContents() {
        asking.abort();
        asking = new AbortController();
        missing.hidden = true;
        resources.hidden = true;
        screenshot.clear();
        if (shown === null) return;
        const either = AbortSignal.any([signal, asking.signal]);
        screenshot.show({ ...shown, key, url: page.url }, shown.number);
        resources.hidden = false;
        fill(resources, h("h2", {}, "Resources"), h("p.muted.small", {}, "Reading the resources …"));
        try {
            const path = `pages/${encodeURIComponent(key)}/resources`;
            const list = await api.json("GET", path, { query: { capture: shown.number }, signal: either });
            showResources(list.resources);
        } catch (error) {
            if (either.aborted) return;
            fill(resources, h("h2", {}, "Resources"), failureNote("The resources cannot be read", error, showContents));
        }
    }

    function showResources(all) {
        const lacking = all.filter(({ reason }) => reason !== undefined);
        missing.hidden = lacking.length === 0;
        fill(missing, h("h2", {}, `Missing: ${count(lacking.length)}`), resourceTable("Missing resources", lacking));
        fill(resources, h("h2", {}, `Resources: ${count(all.length)}`), resourceTable("Resources", all));
    }

    function captureRow(capture, index) {
        const isShown = capture.number === selected()?.number;
        const time = h("time", { datetime: capture.endDate }, dateTime(capture.endDate));
        const address = link("page", { capture: index === 0 ? null : capture.number }, key);
        return h(
            "li", {},
            h("a", { href: address, "aria-current": isShown ? "true" : null }, time),
            h("span.chip", { class: `chip ${capture.state}` }, capture.state),
            h("span.chip", { title: capture.browserProblem ?? null }, capture.mode),
            h("span.muted", {}, bytes(capture.bytes)),
            capture.missing > 0 && h("span.muted", {}, `${count(capture.missing)} missing`));
    }

    function showRemoved() {
        asking.abort();
        shown = null;
        screenshot.clear();
        columns.hidden = true;
        fill(chips);
        fill(notes);
        fill(trouble, h(
            "p.note", {}, wasShown ? "The page is no longer in the cache. " : "No page has this key. ",
            h("a", { href: link("pages") }, "Other pages")));
        page = null;
    }

    load(key);
    const element = h(
        "div.view", {},
        h("div.view-head", {}, h("a.small", { href: link("pages") }, "Pages")),
        name, url, chips, trouble, notes, columns);
    return { title: "Page", element };
}

function missingChip(page) {
    return h("span.chip.missing", {}, `${count(page.missing)} missing`);
}

/** Returns the explanations that a user of the capture needs. */
function notesOf(page, capture) {
    const problem = isRunning(page) ? undefined : page.lastCapture?.problem?.detail;
    const isUnknown = capture === null && page.entry !== undefined;
    return [
        problem && h("p.note.failed.foreign", {}, h("strong", {}, "The last capture: "), problem),
        isUnknown && h("p.note", {}, "The page no longer has this capture. Select another one below."),
        capture?.browserProblem && h(
            "p.note.foreign", {}, h("strong", {}, "Captured without a browser: "), capture.browserProblem),
        capture?.limited && h(
            "p.note", {}, "A limit of the capture kept further resources out. They are in no list."),
    ].filter((note) => note);
}

/** Returns the numbers of an imported archive's records that the capture does not list. */
function skippedOf({ skipped }) {
    const words = {
        noResponse: "without an HTTP response",
        otherUrl: "with another scheme",
        repeated: "for URLs with a response",
        beyondLimit: "beyond a limit",
    };
    return Object.entries(words)
        .filter(([name]) => skipped?.[name])
        .map(([name, text]) => `${counted(skipped[name], "record")} ${text}`)
        .join(", ");
}

/** Returns the known facts in words. */
function factsOf(page, capture, link) {
    const { entry } = page;
    const time = (text) => h("time", { datetime: text }, dateTime(text));
    const code = (text) => h("code", {}, text);
    const took = latency((Date.parse(capture.endDate) - Date.parse(capture.startDate)) / 1000);
    return [
        ["Key", h("a", { href: link("entry", {}, page.key), title: "Entry of the page" }, code(page.key))],
        ["Namespace", entry?.namespace],
        ["Final URL", capture.finalUrl === page.url ? null : code(capture.finalUrl)],
        ["Mode", capture.mode],
        ["Captured", counted(capture.captured, "URL")],
        ["Missing", counted(capture.missing, "URL")],
        ["Skipped", skippedOf(capture)],
        ["Size", sizeOf(page)],
        ["Date", h("span", {}, time(capture.endDate), `, in ${took}`)],
        ["Expires", entry && time(entry.expiryDate)],
        ["TTL", entry && duration(entry.expiresInSeconds) + (page.updateExpiry ? ", renewed by each view" : "")],
        ["Views", entry && count(entry.hits)],
        ["Last view", entry?.lastAccessDate && time(entry.lastAccessDate)],
        ["Tags", entry?.tags.join(", ")],
    ].filter(([, value]) => value);
}
