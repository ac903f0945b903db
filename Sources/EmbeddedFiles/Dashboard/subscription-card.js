import { fill, h, say } from "./dom.js";
import { Parts } from "./drawn.js";
import { count } from "./format.js";
import { relativeTime } from "./relative-time.js";
import { SubscriptionActions } from "./subscription-actions.js";
import { chipsOf, Completeness, sourceLine, sourceOf, sourceProblemOf } from "./subscription-words.js";

/** A card keeps its element as long as its subscription is listed, so that a focused button stays focused. */
export class SubscriptionCard {
    #chips = h("div.chips");
    #source = h("p.small.muted.source");
    #completeness;
    #problem = h("p.small.foreign.problem");
    #facts = h("p.small.muted.row-facts");
    #parts = new Parts();

    constructor(context, { name }, onChange) {
        this.#completeness = new Completeness(name);
        const actions = new SubscriptionActions(context, name, onChange, true);
        this.element = h(
            "li.panel.subscription-card", { "data-name": name },
            h("div.panel-head", {},
                h("h2", {}, h("a.foreign", { href: context.link("subscription", {}, name) }, name)), this.#chips),
            this.#source, this.#completeness.element, this.#problem, this.#facts, actions.element);
    }

    show(subscription) {
        const { state, refreshing, generation, oldest, nextRefresh, sourceProblem } = subscription;
        this.element.dataset.state = state;
        this.#parts.draw("chips", [state, refreshing, sourceProblem], () => fill(
            this.#chips, ...chipsOf(subscription)));
        this.#parts.draw("source", [sourceOf(subscription)], () => fill(this.#source, sourceLine(subscription)));
        this.#completeness.show(subscription);
        say(this.#problem, sourceProblemOf(subscription));
        this.#parts.draw("facts", [generation, oldest, refreshing, nextRefresh], () => fill(
            this.#facts, h("span", {}, `generation ${count(generation)}`),
            oldest !== null && h("span", {}, "oldest copy ", relativeTime(oldest)),
            !refreshing && h("span", {}, "next refresh ", relativeTime(nextRefresh))));
    }
}
