/** One change of the outbox: its state, its versions side by side, the decisions about it, and its facts. */

import { ChangeActions } from "./change-actions.js";
import { compare } from "./change-versions.js";
import { chipsOf, decisionsOf, isEnded, isStopped, problemWords, stateWords } from "./change-words.js";
import { fill, h } from "./dom.js";
import { Parts } from "./drawn.js";
import { Trouble } from "./failure.js";
import { bytes, counted, dateTime } from "./format.js";
import { MergeEditor } from "./merge-editor.js";
import { nameOf, visible } from "./name.js";
import { every } from "./poll.js";
import { keepRelativeTimes, relativeTime } from "./relative-time.js";
import { oneAtATime } from "./repeat.js";
import { versionTable } from "./version-table.js";

/** The time in milliseconds between two readings if there is no event stream. */
const ASKED = 2000;

export function changeView(context, { key: id }) {
    const { api, activity, signal, link } = context;
    const path = `outbox/${encodeURIComponent(id)}`;
    let change = null;
    /** The number of decisions. The answer to a reading from before a decision is outdated. */
    let decisions = 0;
    /** Whether only an event can tell of a change of the shown state. */
    let isSettled = false;
    let parts = new Parts();

    const name = h("h1.entry-name", { tabindex: -1 }, `Change ${visible(id)}`);
    const chips = h("div.chips");
    const trouble = new Trouble("The change cannot be read");
    const gone = h("div");
    const reason = h("p.foreign");
    const words = h("p.small.muted");
    const state = h("section.panel", { hidden: true }, reason, words);
    const versions = h("section.panel", { hidden: true });
    const metadata = h("section.panel", { hidden: true });
    const facts = h("dl.facts");
    const actions = new ChangeActions(context, path, take, toggleEditor);
    const editor = new MergeEditor((text) => actions.sendBody(text));
    state.append(actions.element);
    metadata.append(h("h2", {}, "Metadata"), facts);
    const others = h("a.small");
    const load = oneAtATime(look, signal);

    async function look() {
        const before = decisions;
        try {
            const found = await api.json("GET", path, { signal });
            if (decisions === before) show(found);
            isSettled = isEnded(found);
        } catch (error) {
            if (signal.aborted || decisions !== before) return;
            // The server does not get the change later, nor the token the scope.
            isSettled = error.status === 404 || error.status === 403;
            if (error.status === 404) showMissing();
            else trouble.show(error);
        }
    }

    /** Takes the answer to a decision. An event may have been faster, so that the answer is older than the event. */
    function take(changed) {
        const focused = document.activeElement;
        decisions += 1;
        show(changed);
        load();
        // A button that the new state does not have would take the focus along.
        if (focused?.closest("[hidden]") || document.activeElement === document.body) name.focus();
    }

    function toggleEditor() {
        editor.toggle();
        actions.show(change, editor.isOpen);
    }

    function show(changed) {
        change = changed;
        trouble.show(null);
        fill(gone);
        for (const panel of [state, metadata]) panel.hidden = false;
        const { method, url, credential, mayBeApplied, unguarded, problem } = change;
        parts.draw("name", [method, url], () => {
            fill(name, `${method} `, nameOf(url, url));
            fill(others, "Changes of this URL");
            others.href = link("outbox", { url });
        });
        parts.draw("chips", [change.state, credential, mayBeApplied, unguarded], () => fill(chips, ...chipsOf(change)));
        parts.draw("words", [change.state, problem], () => {
            const text = problemWords(change);
            fill(reason, text !== "" && h(
                isStopped(change) ? "strong.problem" : "strong", {}, `${text[0].toUpperCase()}${text.slice(1)}.`));
            fill(words, stateWords(change));
        });
        parts.draw("versions", [change.state, problem, change.seen, change.ours, change.theirs], showVersions);
        editor.offer(decisionsOf(change).includes("edit"));
        actions.show(change, editor.isOpen);
        const { seen, ours, theirs, ...rest } = change;
        parts.draw("facts", rest, () => fill(facts, ...factsOf(change)
            .flatMap(([term, value]) => [h("dt", {}, term), h("dd.foreign", {}, value)])));
    }

    function showVersions() {
        const comparison = compare(change);
        const { sides, isJSON } = comparison;
        editor.show(comparison);
        versions.hidden = false;
        fill(
            versions, h("div.panel-head", {}, h("h2", {}, sides.length === 3 ? "Three versions" : "Versions"),
                isJSON && h("p.small.muted", {}, "The members of JSON are in the order of their names.")),
            versionTable(comparison));
    }

    function showMissing() {
        // A new note would take the focus from its link.
        if (gone.childElementCount > 0) return;
        editor.offer(false);
        for (const panel of [state, versions, metadata]) panel.hidden = true;
        for (const part of [chips, others]) fill(part);
        trouble.show(null);
        fill(gone, h(
            "p.note", {}, change === null ? "No change has this id. " : "The outbox no longer has the change. ",
            h("a", { href: link("outbox") }, "Other changes")));
        change = null;
        parts = new Parts();
    }

    activity.addEventListener("change", ({ detail }) => {
        if (detail.id === undefined || String(detail.id) === id) load();
    }, { signal });
    activity.addEventListener("open", load, { signal });
    every(ASKED, () => isSettled || (activity.isLive && change !== null) ? null : load(), signal);
    keepRelativeTimes(facts, signal);
    const element = h(
        "div.view", {}, h("div.view-head", {}, h("a.small", { href: link("outbox") }, "Outbox"), others),
        name, chips, trouble.element, gone, state, editor.element, versions, metadata);
    return { title: "Change", element };
}

const BASES = {
    version: "the version that the author saw", absent: "no resource", blind: "any version, without a precondition",
};

/** Returns the known facts in words. The values of request fields may be secret, so the facts have only their names. */
function factsOf(change) {
    const { method, attempts, nextAttemptDate, expiryDate, credential, headers, lane, url } = change;
    const instant = (date) => h("span", {}, relativeTime(date), `, ${dateTime(date)}`);
    return [
        ["Id", String(change.id)],
        ["Lane", lane === url ? "the URL" : visible(lane)],
        ["Accepted", instant(change.createdDate)],
        ["Requests", attempts === 0 ? "none yet" : counted(attempts, "request")],
        ["Last answer", change.problem?.status && `status ${change.problem.status}`],
        ["Next attempt", nextAttemptDate && instant(nextAttemptDate)],
        ["Expires", expiryDate && instant(expiryDate)],
        ["Credential", credential && visible(credential)],
        ["Made on", Object.hasOwn(BASES, change.base) ? BASES[change.base] : visible(change.base)],
        ["Sent as", method === "PATCH" && (Array.isArray(change.patch) ? "JSON Patch" : "JSON Merge Patch")],
        ["On a conflict", change.onConflict],
        ["On a lost answer", method === "POST" && change.onUncertain],
        ["Request fields", Object.keys(headers ?? {}).map(visible).join(", ")],
        ["Size", bytes(change.bytes)],
    ].filter(([, value]) => value);
}
