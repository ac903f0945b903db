/** The subscriptions of the namespace, with the completeness of their copies. */

import { h, say } from "./dom.js";
import { arrange } from "./drawn.js";
import { Trouble } from "./failure.js";
import { counted } from "./format.js";
import { Pager } from "./pager.js";
import { keepRelativeTimes } from "./relative-time.js";
import { SubscriptionCard } from "./subscription-card.js";
import { followSubscriptions } from "./subscription-updates.js";
import { isBusy } from "./subscription-words.js";

/** The subscriptions of a part of the list. */
const LIMIT = 100;

export function subscriptionsView(context, route) {
    const { api, signal, link } = context;
    let query = route.query;
    let asking = new AbortController();
    let shown = [];
    let cards = new Map();

    const total = h("p.muted.small");
    const trouble = new Trouble("The subscriptions cannot be listed");
    const list = h("ul.subscription-list", { "aria-label": "Subscriptions", "aria-busy": "true" });
    const empty = h(
        "p.empty.panel", { hidden: true }, "No subscriptions yet. ", h("code", {}, "larder subscribe"), " and ",
        h("code", {}, "PUT /subscriptions/{name}"), " make one.");

    const pager = new Pager("Parts of the list", (cursor) => link("subscriptions", { cursor }), () => load());
    pager.element.hidden = true;

    const load = followSubscriptions(context, { look, isBusy: () => shown.some(isBusy) });

    async function look() {
        asking.abort();
        asking = new AbortController();
        const either = AbortSignal.any([signal, asking.signal]);
        const cursor = query.cursor ?? null;
        try {
            const answer = await api.json("GET", "subscriptions", { query: { limit: LIMIT, cursor }, signal: either });
            const { subscriptions, nextCursor = null } = answer;
            trouble.show(null);
            show(subscriptions);
            showPlace(cursor, nextCursor);
        } catch (error) {
            if (either.aborted) return;
            show([]);
            empty.hidden = true;
            trouble.show(error);
            showPlace(cursor, null);
        }
        list.removeAttribute("aria-busy");
    }

    function showPlace(cursor, nextCursor) {
        pager.element.hidden = cursor === null && nextCursor === null;
        pager.show(cursor, nextCursor, nextCursor === null ? "End of the list" : "");
    }

    function show(subscriptions) {
        shown = subscriptions;
        cards = new Map(subscriptions.map((subscription) => {
            const { name } = subscription;
            const card = cards.get(name) ?? new SubscriptionCard(context, subscription, () => load());
            card.show(subscription);
            return [name, card];
        }));
        arrange(list, [...cards.values()].map(({ element }) => element));
        empty.hidden = cards.size > 0;
        say(total, cards.size === 0 ? "" : wordsOf(subscriptions));
    }

    keepRelativeTimes(list, signal);
    const element = h(
        "div.view", {},
        h("div.view-head", {}, h("h1", { tabindex: -1 }, "Subscriptions"), total),
        trouble.element, empty, list, pager.element);
    return {
        title: "Subscriptions",
        element,
        update(changed) {
            query = changed;
            list.setAttribute("aria-busy", "true");
            // The answer of an earlier reading belongs to another part.
            look();
        },
    };
}

/** Returns the numbers of the shown subscriptions together. */
function wordsOf(subscriptions) {
    const missing = subscriptions.reduce((sum, { missingCount }) => sum + missingCount, 0);
    const words = counted(subscriptions.length, "subscription");
    return missing === 0 ? words : `${words}, ${counted(missing, "resource")} missing`;
}
