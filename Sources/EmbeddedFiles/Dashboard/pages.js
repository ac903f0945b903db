/** The captured pages, as a grid of cards. The server filters them. */

import { fill, h, say } from "./dom.js";
import { failureNote } from "./failure.js";
import { filterForm } from "./filter-form.js";
import { counted } from "./format.js";
import { PageCard } from "./page-card.js";
import { pageForm } from "./page-form.js";
import { followPages } from "./page-updates.js";
import { Pager } from "./pager.js";
import { PagesModel } from "./pages-model.js";
import { Turns } from "./turns.js";

/** The number of pages after which no further part of the list is read. */
const SHOWN = 24;
/** The pages that the server reads for a part. With filters it reads more, because only some of them match. */
const LIMIT = { all: SHOWN, filtered: 96 };
/** The most parts that are read at a time. If fewer pages match, the user continues the search. */
const PARTS = 10;
/** The most requests at a time for the facts and the pictures of cards. */
const REQUESTS = 3;
const STATES = ["queued", "fetching", "complete", "partial", "failed", "cancelled"];
const FILTERS = [
    { name: "q", label: "URL or title contains", placeholder: "example", isWide: true },
    {
        name: "state", label: "State",
        options: [["", "Any"], ...STATES.map((state) => [state, state[0].toUpperCase() + state.slice(1)])],
    },
    { name: "tag", label: "Tag", placeholder: "news" },
];

export function pagesView(context, route) {
    const { api, signal, link, go } = context;
    const model = new PagesModel();
    const turns = new Turns(REQUESTS);
    let cards = new Map();
    let query = route.query;
    /** The cursor of the next part; `null` after the last part. */
    let following = null;
    let asking = new AbortController();

    const total = h("p.muted.small");
    const form = pageForm(context, takeStarted);
    form.element.hidden = true;
    const more = h("button.primary", { type: "button", "aria-expanded": "false", click: toggleForm }, "Capture a page");
    const filters = filterForm("Pages", FILTERS, (values) => go(address({ ...values, cursor: null })));
    const trouble = h("div");
    const empty = h("p.empty.panel", { hidden: true });
    const grid = h("ul.page-grid", { tabindex: -1, "aria-label": "Pages", "aria-busy": "true" });
    const pager = new Pager("Parts of the list", (cursor) => address({ cursor }), show);
    const load = followPages(context, {
        isKnown: (key) => model.has(key),
        running: () => model.running,
        onEvent(event) {
            // With filters, or in a later part, only the server knows whether an unknown page belongs to the list.
            if (!model.has(event.key) && !isWholeBeginning()) return;
            model.apply(event);
            draw();
        },
        onPage: take,
        onGone(key) {
            model.remove(key);
            draw();
        },
        onReset: show,
        onTrouble: () => {},
    });
    /** Loads the facts and the picture of each card that is near the window. */
    const watcher = new IntersectionObserver((changes) => {
        for (const { target, isIntersecting } of changes) {
            target.dataset.isNear = isIntersecting;
            if (isIntersecting) complete(target.dataset.key);
        }
    }, { rootMargin: "200px" });
    signal.addEventListener("abort", () => watcher.disconnect());

    function address(changes) {
        return link("pages", { ...query, ...changes });
    }

    function isFiltered() {
        return ["q", "state", "tag"].some((name) => query[name]);
    }

    function isWholeBeginning() {
        return !isFiltered() && query.cursor === undefined;
    }

    function toggleForm() {
        form.element.hidden = !form.element.hidden;
        more.setAttribute("aria-expanded", String(!form.element.hidden));
        if (!form.element.hidden) form.focus();
    }

    async function show() {
        asking.abort();
        asking = new AbortController();
        const either = AbortSignal.any([signal, asking.signal]);
        filters.show(query);
        grid.setAttribute("aria-busy", "true");
        try {
            const { pages, nextCursor } = await list(either);
            following = nextCursor;
            fill(trouble);
            model.replace(pages);
            draw();
            // An event may have been faster than the list, so that the list is older than the event.
            for (const key of model.running) load(key);
            pager.show(query.cursor ?? null, nextCursor, nextCursor === null ? "End of the list" : "");
        } catch (error) {
            if (either.aborted) return;
            following = null;
            model.replace([]);
            draw();
            empty.hidden = true;
            pager.show(query.cursor ?? null, null, "");
            fill(trouble, failureNote("The pages cannot be listed", error, show));
        }
        grid.removeAttribute("aria-busy");
    }

    /** Reads parts of the list until enough pages match. */
    async function list(either) {
        const { q, state, tag } = query;
        const limit = isFiltered() ? LIMIT.filtered : LIMIT.all;
        const pages = [];
        let cursor = query.cursor ?? null;
        for (let part = 0; part < PARTS; part += 1) {
            const answer = await api.json("GET", "pages", { query: { q, state, tag, limit, cursor }, signal: either });
            pages.push(...answer.pages);
            cursor = answer.nextCursor ?? null;
            if (cursor === null || pages.length >= SHOWN) break;
        }
        return { pages, nextCursor: cursor };
    }

    function take(page) {
        if (!model.has(page.key) && !isWholeBeginning()) return;
        model.put(page);
        draw();
        const card = cards.get(page.key);
        if (card.element.dataset.isNear === "true") complete(page.key);
    }

    /** Takes the answer to a new capture. An event may have been faster, so that the answer is older than the event. */
    function takeStarted(page) {
        take(page);
        load(page.key);
    }

    function draw() {
        const before = cards;
        cards = new Map();
        for (const page of model.list) {
            const card = before.get(page.key) ?? new PageCard(context, page, (changed) => {
                if (changed !== null) return takeStarted(changed);
                model.remove(page.key);
                draw();
            });
            card.show(page);
            cards.set(page.key, card);
        }
        for (const [key, card] of before) {
            if (cards.has(key)) continue;
            watcher.unobserve(card.element);
            card.end();
        }
        [...cards.values()].forEach(({ element }, index) => {
            // Only cards in the wrong place move, because a moved element loses the focus.
            const there = grid.children[index] ?? null;
            if (there === element) return;
            grid.insertBefore(element, there);
            watcher.observe(element);
        });
        const isPart = following !== null || query.cursor !== undefined;
        say(total, cards.size === 0 ? "" : `${counted(cards.size, "page")}${isPart ? " in this part" : ""}`);
        empty.hidden = cards.size > 0;
        say(
            empty, isFiltered() || query.cursor !== undefined ? "No pages match."
                : "No pages are captured yet. “Capture a page” stores a page with all its resources.");
    }

    /** Reads the facts that the list lacks, and the picture. */
    function complete(key) {
        const due = model.get(key);
        if (due === null || !cards.get(key).isDue(due)) return;
        turns.run(async () => {
            if (!cards.has(key) || !cards.get(key).isDue(model.get(key))) return;
            const card = cards.get(key);
            if (model.get(key).bytes === undefined) await load(key);
            if (model.has(key)) await card.showScreenshot(model.get(key));
        }, signal);
    }

    show();
    const element = h(
        "div.view", {},
        h("div.view-head", {}, h("h1", { tabindex: -1 }, "Pages"), total, h("div.actions", {}, more)),
        form.element, filters.element, trouble, empty, grid, pager.element);
    return {
        title: "Pages",
        element,
        update(changed) {
            // The focus moves to the beginning of a new part.
            if (changed.cursor !== query.cursor) grid.focus();
            query = changed;
            show();
        },
    };
}
