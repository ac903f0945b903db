/** The shown pages, combined from answers and events. */

const EMPTY = { found: 0, captured: 0, missing: 0, bytes: 0 };

export class PagesModel {
    /** The pages by key, in the order in which they are shown. */
    #pages = new Map();

    get list() { return [...this.#pages.values()]; }

    /** The keys of the pages with a capture that runs or waits. */
    get running() { return this.list.filter(isRunning).map(({ key }) => key); }

    has(key) { return this.#pages.has(key); }

    get(key) { return this.#pages.get(key) ?? null; }

    /** Replaces all pages by those of a list, which lack the sizes. Pages with a running capture come first. */
    replace(pages) {
        const ordered = [...pages.filter(isRunning), ...pages.filter((page) => !isRunning(page))];
        this.#pages = new Map(ordered.map((page) => {
            const known = this.get(page.key);
            const isSame = known?.bytes !== undefined && known.entry?.digest === page.entry?.digest;
            return [page.key, isSame ? { bytes: known.bytes, sharedBytes: known.sharedBytes, ...page } : page];
        }));
    }

    /** Updates a page at its place. An unknown page comes first. */
    put(page) {
        if (this.#pages.has(page.key)) this.#pages.set(page.key, page);
        else this.#pages = new Map([[page.key, page], ...this.#pages]);
    }

    remove(key) {
        this.#pages.delete(key);
    }

    /** Updates the page of an event `page.started`, `page.progress` or `page.finished`. */
    apply(event) {
        const page = this.get(event.key) ?? { key: event.key, url: event.url, state: "fetching" };
        this.put(afterEvent(page, event));
    }
}

export function isRunning({ state }) {
    return state === "queued" || state === "fetching";
}

/**
 * Returns a page as an event changes it. The events lack most members of a page, so the page is read again after
 * `page.finished`.
 */
export function afterEvent(page, event) {
    const last = page.lastCapture ?? EMPTY;
    switch (event.type) {
    case "page.started":
        return { ...page, state: "fetching", lastCapture: { ...EMPTY, state: "fetching" } };
    case "page.progress": {
        const { found, failed, done, bytes } = event;
        const progress = { state: "fetching", found, captured: done - failed, missing: failed, bytes };
        return { ...page, state: "fetching", lastCapture: { ...last, ...progress } };
    }
    case "page.finished": {
        const { state, captured, missing, bytes, problem } = event;
        const reason = problem === undefined ? {} : { problem: { detail: problem } };
        return { ...page, state, lastCapture: { ...last, state, captured, missing, bytes, ...reason } };
    }
    default:
        return page;
    }
}
