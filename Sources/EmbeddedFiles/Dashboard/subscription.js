/** One subscription: its completeness, its missing resources with the reasons, its definition and its resources. */

import { fill, h } from "./dom.js";
import { Parts } from "./drawn.js";
import { failureNote, Trouble } from "./failure.js";
import { count, counted, dateTime } from "./format.js";
import { itemTable, missingTable } from "./item-table.js";
import { visible } from "./name.js";
import { Pager } from "./pager.js";
import { keepRelativeTimes, relativeTime } from "./relative-time.js";
import { SubscriptionActions } from "./subscription-actions.js";
import { followSubscriptions } from "./subscription-updates.js";
import {
    chipsOf, Completeness, definitionFacts, isBusy, sourceLine, sourceProblemOf,
} from "./subscription-words.js";

/** The items of a part of the list. */
const SHOWN = 50;

export function subscriptionView(context, { key: name, query: first }) {
    const { api, signal, link } = context;
    const path = `subscriptions/${encodeURIComponent(name)}`;
    let query = first;
    let subscription = null;
    /** Whether the subscription was shown. An action and a reading may both report its removal. */
    let wasShown = false;
    let asking = new AbortController();
    let parts = new Parts();

    const source = h("p.small.source");
    const chips = h("div.chips");
    const trouble = new Trouble("The subscription cannot be read");
    const gone = h("div");
    const notes = h("div.view");
    const completeness = new Completeness(name);
    const facts = h("dl.facts");
    const definition = h("dl.facts");
    const missing = h("section.panel", { hidden: true });
    const sheet = h("div.sheet", { tabindex: -1, "aria-busy": "true" });
    const pager = new Pager("Parts of the list", address, showItems);
    const actions = new SubscriptionActions(context, name, (changed) => changed === null ? showRemoved() : load());
    const columns = h(
        "div.columns.page", { hidden: true },
        h("section.panel.page-side", {}, completeness.element, actions.element, facts),
        h("section.panel.page-side", {}, h("h2", {}, "Definition"), definition),
        h("div.view.page-body", {}, missing,
            h("section.panel", {}, h("h2", {}, "Resources"), sheet, pager.element)));

    const load = followSubscriptions(context, {
        look, concerns: (other) => other === name, isBusy: () => subscription !== null && isBusy(subscription),
    });

    function address(cursor) {
        return link("subscription", { cursor }, name);
    }

    async function look() {
        try {
            show(await api.json("GET", path, { signal }));
        } catch (error) {
            if (signal.aborted) return;
            if (error.status === 404) showRemoved();
            else trouble.show(error);
        }
    }

    function show(changed) {
        subscription = changed;
        wasShown = true;
        const { state, refreshing, generation, wanted, held, leftOut, sourceProblem } = subscription;
        const { oldest, nextRefresh } = subscription;
        trouble.show(null);
        fill(gone);
        columns.hidden = false;
        parts.draw("source", subscription.definition.source, () => fill(source, sourceLine(subscription)));
        parts.draw("chips", [state, refreshing, sourceProblem], () => fill(chips, ...chipsOf(subscription)));
        parts.draw("notes", [state, sourceProblem], () => fill(notes, ...notesOf(subscription)));
        completeness.show(subscription);
        parts.draw("facts", [generation, oldest, refreshing, nextRefresh, leftOut], () => fill(facts, ...listed([
            ["Generation", count(generation)],
            ["Left out", leftOut > 0 && `${counted(leftOut, "item")} without a URL that can be fetched`],
            ["Oldest copy", oldest && h("span", {}, relativeTime(oldest), `, ${dateTime(oldest)}`)],
            ["Next refresh", refreshing ? "running" : relativeTime(nextRefresh)],
        ])));
        parts.draw("definition", subscription.definition, () => fill(
            definition, ...listed(definitionFacts(subscription, link))));
        parts.draw("missing", [subscription.missing, subscription.missingCount], showMissing);
        parts.draw("items", [generation, wanted, held, subscription.missing], showItems);
    }

    function showMissing() {
        const { missing: some, missingCount } = subscription;
        missing.hidden = missingCount === 0;
        fill(
            missing, h("h2", {}, `Missing: ${count(missingCount)}`), missingTable(some),
            some.length < missingCount && h("p.muted.small", {}, `The first ${count(some.length)} are shown.`));
    }

    async function showItems() {
        asking.abort();
        asking = new AbortController();
        const either = AbortSignal.any([signal, asking.signal]);
        const cursor = query.cursor ?? null;
        try {
            const answer = await api.json("GET", `${path}/items`, { query: { limit: SHOWN, cursor }, signal: either });
            const { items, nextCursor = null } = answer;
            fill(sheet, items.length > 0 ? itemTable(items, link) : h("p.empty", {}, "No resources are wanted."));
            pager.show(
                cursor, nextCursor,
                `${counted(items.length, "resource")} in this part${nextCursor === null ? ", the last" : ""}`);
        } catch (error) {
            if (either.aborted) return;
            fill(sheet, failureNote("The resources cannot be listed", error, showItems));
            pager.show(cursor, null, "");
        }
        sheet.removeAttribute("aria-busy");
    }

    function showRemoved() {
        // A new note would take the focus from its link.
        if (gone.childElementCount > 0) return;
        asking.abort();
        columns.hidden = true;
        for (const part of [source, chips, notes]) fill(part);
        trouble.show(null);
        fill(gone, h(
            "p.note", {}, wasShown ? "The subscription was deleted. " : "No subscription has this name. ",
            h("a", { href: link("subscriptions") }, "Other subscriptions")));
        subscription = null;
        parts = new Parts();
    }

    keepRelativeTimes(columns, signal);
    const element = h(
        "div.view", {}, h("div.view-head", {}, h("a.small", { href: link("subscriptions") }, "Subscriptions")),
        h("h1.foreign", { tabindex: -1 }, visible(name)), source, chips, trouble.element, gone, notes, columns);
    return {
        title: "Subscription",
        element,
        update(changed) {
            // The focus moves to the beginning of a new part.
            if (changed.cursor !== query.cursor) sheet.focus();
            query = changed;
            showItems();
        },
    };
}

function listed(facts) {
    return facts.filter(([, value]) => value)
        .flatMap(([term, value]) => [h("dt", {}, term), h("dd.foreign", {}, value)]);
}

/** Returns the explanations that a user needs. */
function notesOf(subscription) {
    const problem = sourceProblemOf(subscription);
    return [
        problem !== "" && h("p.note.failed.foreign", {}, h("strong", {}, "The source gives no list: "), problem),
        subscription.state === "no-room" && h(
            "p.note.failed", {}, "The last refresh had no room for a new generation. An older one stays whole."),
        subscription.state === "pending" && h("p.note", {}, "The first generation has not been published yet."),
    ];
}
