import { stateChip, problemWords } from "./change-words.js";
import { fill, h, say } from "./dom.js";
import { arrange, Parts } from "./drawn.js";
import { count, counted } from "./format.js";
import { nameOf, visible } from "./name.js";
import { relativeTime } from "./relative-time.js";

/** The changes of a lane that are shown at first. */
const SHOWN = 10;

/** A lane with its changes in order. Lanes and changes keep their elements, so that a focused link stays focused. */
export class LaneCard {
    #context;
    #name;
    #list = h("ol.changes");
    #size = h("span.muted.small");
    #chips = h("div.chips");
    #rest = h("div.actions");
    #rows = new Map();
    #parts = new Parts();
    #isWhole = false;

    constructor(context, name) {
        this.#context = context;
        this.#name = name;
        const isURL = /^[a-z]+:\/\//.test(name);
        this.element = h(
            "li.panel.lane", { "data-lane": name },
            h("div.panel-head", {},
                h("h2.lane-name", {}, isURL ? nameOf(name, name) : h("span.foreign", {}, "Lane ", visible(name))),
                this.#chips, this.#size),
            this.#list, this.#rest);
    }

    show({ changes, isStopped }) {
        this.element.dataset.stopped = isStopped;
        say(this.#size, counted(changes.length, "change"));
        this.#parts.draw("chips", [isStopped], () => fill(
            this.#chips, isStopped && h("span.chip.uncertain", {}, "waits for a decision")));
        const shown = this.#isWhole ? changes : changes.slice(0, SHOWN);
        this.#rows = new Map(shown.map((change) => {
            const row = this.#rows.get(change.id) ?? new ChangeRow(this.#context, change, this.#name);
            row.show(change);
            return [change.id, row];
        }));
        arrange(this.#list, [...this.#rows.values()].map(({ element }) => element));
        const isCut = shown.length < changes.length;
        this.#parts.draw("rest", [isCut, isCut && changes.length], () => fill(this.#rest, isCut && h(
            "button.small", { type: "button", click: () => {
                this.#isWhole = true;
                this.show({ changes, isStopped });
                this.#list.children[SHOWN].querySelector("a").focus();
            } }, `Show all ${count(changes.length)}`)));
    }
}

class ChangeRow {
    #chip = h("span.change-state");
    #facts = h("span.row-facts.small.muted");
    #problem = h("span.small.foreign.problem");
    #parts = new Parts();

    constructor({ link }, { id, method, url }, lane) {
        this.element = h(
            "li.change-row", { "data-id": id },
            h("a.change-name", { href: link("change", {}, id) }, h("b", {}, method), ` #${id}`),
            this.#chip,
            url !== lane && h("span.mono.small.change-url", {}, nameOf(url, url)),
            this.#problem, this.#facts);
    }

    show(change) {
        const { state, attempts, createdDate, nextAttemptDate, expiryDate } = change;
        this.element.dataset.state = state;
        this.#parts.draw("state", [state], () => fill(this.#chip, stateChip(state)));
        say(this.#problem, problemWords(change));
        this.#parts.draw("facts", [attempts, createdDate, nextAttemptDate, expiryDate], () => fill(
            this.#facts, h("span", {}, "accepted ", relativeTime(createdDate)),
            attempts > 0 && h("span", {}, counted(attempts, "request")),
            nextAttemptDate !== null && h("span", {}, "next attempt ", relativeTime(nextAttemptDate)),
            expiryDate !== null && h("span", {}, "expires ", relativeTime(expiryDate))));
    }
}
