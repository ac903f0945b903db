/** The subscriptions of the namespace, with the completeness of their copies. */

import { h, say } from "./dom.js";
import { arrange } from "./drawn.js";
import { Trouble } from "./failure.js";
import { counted } from "./format.js";
import { keepRelativeTimes } from "./relative-time.js";
import { SubscriptionCard } from "./subscription-card.js";
import { followSubscriptions } from "./subscription-updates.js";
import { isBusy } from "./subscription-words.js";

export function subscriptionsView(context) {
    const { api, signal } = context;
    let shown = [];
    let cards = new Map();

    const total = h("p.muted.small");
    const trouble = new Trouble("The subscriptions cannot be listed");
    const list = h("ul.subscription-list", { "aria-label": "Subscriptions", "aria-busy": "true" });
    const empty = h(
        "p.empty.panel", { hidden: true }, "No subscriptions yet. ", h("code", {}, "larder subscribe"), " and ",
        h("code", {}, "PUT /subscriptions/{name}"), " make one.");

    const load = followSubscriptions(context, { look, isBusy: () => shown.some(isBusy) });

    async function look() {
        try {
            const { subscriptions } = await api.json("GET", "subscriptions", { signal });
            trouble.show(null);
            show(subscriptions);
        } catch (error) {
            if (signal.aborted) return;
            show([]);
            empty.hidden = true;
            trouble.show(error);
        }
        list.removeAttribute("aria-busy");
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
        trouble.element, empty, list);
    return { title: "Subscriptions", element };
}

/** Returns the numbers of all subscriptions together. */
function wordsOf(subscriptions) {
    const missing = subscriptions.reduce((sum, { missingCount }) => sum + missingCount, 0);
    const words = counted(subscriptions.length, "subscription");
    return missing === 0 ? words : `${words}, ${counted(missing, "resource")} missing`;
}
