/** The outbox: the lanes of changes for origins, with the states of the changes. */

import { ENDED, OPEN, STOPPED } from "./change-words.js";
import { fill, h, say } from "./dom.js";
import { arrange, Parts } from "./drawn.js";
import { Trouble } from "./failure.js";
import { filterForm } from "./filter-form.js";
import { count, counted } from "./format.js";
import { LaneCard } from "./lane-card.js";
import { LanesModel } from "./lanes-model.js";
import { every } from "./poll.js";
import { keepRelativeTimes, relativeTime } from "./relative-time.js";
import { oneAtATime } from "./repeat.js";

/** The changes that the server returns for a part of the list, and the most parts: a namespace has 10,000 open ones. */
const LIMIT = 1000;
const PARTS = 11;
/** The shortest time between two readings of the list, and the time without an event stream, in milliseconds. */
const REST = 500;
const ASKED = 2000;
/** The lanes that are shown at first. */
const SHOWN = 50;
const FILTERS = [
    {
        name: "state", label: "State", options: [
            ["", "Not ended"], [STOPPED.join(), "Waits for a decision"],
            ...[...OPEN, ...ENDED].map((state) => [state, state[0].toUpperCase() + state.slice(1)]),
            [ENDED.join(), "Ended"], [[...OPEN, ...ENDED].join(), "Any"],
        ],
    },
    { name: "url", label: "URL", placeholder: "https://api.example.com/notes/1", isWide: true },
];

export function outboxView(context, route) {
    const { api, activity, signal, link, go } = context;
    const model = new LanesModel();
    const parts = new Parts();
    let query = route.query;
    let cards = new Map();
    let shown = SHOWN;
    let asking = new AbortController();
    /** Whether the list needs no further reading, unless an event arrives. */
    let isRead = false;

    const total = h("p.muted.small");
    const counts = h("div.chips");
    const filters = filterForm("Changes", FILTERS, (values) => go(link("outbox", values)));
    const trouble = new Trouble("The changes cannot be listed");
    const cut = h("p.note", { hidden: true }, `The list ends after ${count(PARTS * LIMIT)} changes.`);
    const empty = h("p.empty.panel", { hidden: true });
    const list = h("ul.lanes", { "aria-label": "Lanes", "aria-busy": "true" });
    const rest = h("div.actions");
    const reload = oneAtATime(look, signal, REST);

    function states() {
        return query.state ? query.state.split(",") : OPEN;
    }

    async function look() {
        asking.abort();
        asking = new AbortController();
        const either = AbortSignal.any([signal, asking.signal]);
        try {
            const { changes, isCut } = await read(either);
            trouble.show(null);
            cut.hidden = !isCut;
            model.replace(changes);
            draw();
            isRead = true;
        } catch (error) {
            if (either.aborted) return;
            model.replace([]);
            draw();
            empty.hidden = true;
            trouble.show(error);
            // The token does not get the scope later.
            isRead = error.status === 403;
        }
        list.removeAttribute("aria-busy");
    }

    /** Reads all parts of the list, because a lane can have changes in any part. */
    async function read(either) {
        const changes = [];
        let cursor = null;
        for (let part = 0; part < PARTS; part += 1) {
            const answer = await api.json("GET", "outbox", {
                query: { state: states().join(), url: query.url, limit: LIMIT, cursor }, signal: either,
            });
            changes.push(...answer.changes);
            cursor = answer.nextCursor ?? null;
            if (cursor === null) break;
        }
        return { changes, isCut: cursor !== null };
    }

    function draw() {
        const { lanes, oldest } = model;
        const before = cards;
        cards = new Map(lanes.slice(0, shown).map((lane) => {
            const card = before.get(lane.name) ?? new LaneCard(context, lane.name);
            card.show(lane);
            return [lane.name, card];
        }));
        arrange(list, [...cards.values()].map(({ element }) => element));
        parts.draw("total", [model.size, lanes.length, oldest], () => fill(
            total, model.size > 0 && `${counted(model.size, "change")} in ${counted(lanes.length, "lane")}`,
            oldest !== null && h("span", {}, ", the oldest accepted ", relativeTime(oldest))));
        parts.draw("counts", [model.counts, query], () => fill(counts, ...model.counts.map(([state, number]) => h(
            "a", { class: `chip ${state}`, href: link("outbox", { ...query, state }) }, `${count(number)} ${state}`))));
        parts.draw("rest", [lanes.length, shown], () => fill(rest, lanes.length > shown && h(
            "button", { type: "button", click: showAll }, `Show all ${counted(lanes.length, "lane")}`)));
        empty.hidden = cards.size > 0;
        say(empty, query.state || query.url ? "No changes match." : "No changes wait. The outbox is empty.");
    }

    function showAll() {
        const next = cards.size;
        shown = Infinity;
        draw();
        list.children[next]?.querySelector("a")?.focus();
    }

    activity.addEventListener("change", ({ detail }) => {
        if (detail.id !== undefined) {
            model.apply(detail, states());
            draw();
        }
        reload();
    }, { signal });
    keepRelativeTimes(total, signal);
    keepRelativeTimes(list, signal);
    filters.show(query);
    activity.addEventListener("open", reload, { signal });
    every(ASKED, () => isRead && (activity.isLive || trouble.isShown) ? null : reload(), signal);
    const element = h(
        "div.view", {}, h("div.view-head", {}, h("h1", { tabindex: -1 }, "Outbox"), total),
        filters.element, counts, trouble.element, cut, empty, list, rest);
    return {
        title: "Outbox",
        element,
        update(changed) {
            query = changed;
            shown = SHOWN;
            filters.show(query);
            list.setAttribute("aria-busy", "true");
            // The answer of an earlier reading belongs to the earlier query.
            look();
        },
    };
}
