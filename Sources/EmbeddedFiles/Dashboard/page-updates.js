import { every } from "./poll.js";

/** The time in milliseconds between two readings of a page with a running capture, if there is no event stream. */
const ASKED = 1000;

/**
 * Follows the captures and the removals of pages until the context's signal aborts. Returns `load(key)`, which reads a
 * page, one request at a time for a page, so that no older answer comes last.
 *
 * @param {object} handlers `isKnown(key)`: whether the page is shown; `running()`: the keys of shown pages with a
 *     running capture; `onEvent(event)`: an event of a capture; `onPage(page)`: a page that was read; `onGone(key)`:
 *     the server has no such page; `onReset()`: any page may have changed; `onTrouble(error)`: a page could not be read
 */
export function followPages({ api, activity, signal }, handlers) {
    /** The keys of running requests; `true` if the page may have changed after the request began. */
    const loading = new Map();

    async function load(key) {
        if (loading.has(key)) {
            loading.set(key, true);
            return;
        }
        do {
            loading.set(key, false);
            await look(key);
        } while (loading.get(key) && !signal.aborted);
        loading.delete(key);
    }

    async function look(key) {
        try {
            const page = await api.json("GET", `pages/${encodeURIComponent(key)}`, { signal });
            // A page that changed after the request began is read again.
            if (!loading.get(key)) handlers.onPage(page);
        } catch (error) {
            if (signal.aborted) return;
            if (error.status === 404) handlers.onGone(key);
            else handlers.onTrouble(error);
        }
    }

    activity.addEventListener("page", ({ detail }) => {
        if (detail.key === undefined) return handlers.onReset();
        handlers.onEvent(detail);
        if (detail.type === "page.finished" && handlers.isKnown(detail.key)) load(detail.key);
    }, { signal });
    activity.addEventListener("entry", ({ detail: { key, kind } }) => {
        if (key === undefined) handlers.onReset();
        else if (kind === "page" && handlers.isKnown(key)) load(key);
    }, { signal });
    every(ASKED, () => activity.isLive ? null : Promise.all(handlers.running().map(load)), signal);
    return load;
}
