/** What happens in the namespace while it happens. */

import { DownloadsModel } from "./downloads-model.js";
import { readEvents } from "./events.js";
import { every, pause, untilVisible } from "./poll.js";

/** How often downloads are listed, in milliseconds: where events come, only to be sure; else to see anything. */
const LISTING = { live: 120_000, asked: 1000 };
/** So many downloads are listed, as many as are shown: each is about 800 bytes. */
const LISTED = 120;
/** How long until events are asked for again. */
const RETRY = { first: 1000, last: 30_000 };

/**
 * Follows `GET /events`, and lists the downloads again and again where events do not come through.
 *
 * Says `downloads` when ``downloads`` have changed, and `entry` when an entry may have (its `detail` has the `key`, or
 * none when it may be any). While the page cannot be seen nothing is followed: browsers open six connections to a
 * server, and a stream is one of them.
 */
export class Activity extends EventTarget {
    #api;
    #following = new AbortController();
    #listedAt = -Infinity;
    #isAnnounced = false;

    downloads = new DownloadsModel();
    /** Why nothing can be seen; `null` when it can. */
    refusal = null;
    /** Whether events come through. */
    isLive = false;

    constructor(api) {
        super();
        this.#api = api;
    }

    /** Begins anew, in the namespace that the calls are made in now. */
    follow() {
        this.#following.abort();
        this.#following = new AbortController();
        const { signal } = this.#following;
        this.isLive = false;
        // The events' beginning lists them; only where there is none within a second the page asks by itself.
        this.#listedAt = performance.now();
        this.refusal = null;
        this.downloads.clear();
        this.#announce();
        every(LISTING.asked, () => this.#listWhenDue(signal), signal);
        this.#followEvents(signal);
    }

    async #followEvents(signal) {
        let wait = RETRY.first;
        let lastId = null;
        while (!signal.aborted) {
            await untilVisible(signal);
            const seen = new AbortController();
            const hide = () => document.hidden && seen.abort();
            document.addEventListener("visibilitychange", hide, { signal: AbortSignal.any([signal, seen.signal]) });
            try {
                await readEvents(this.#api, {
                    lastId,
                    signal: AbortSignal.any([signal, seen.signal]),
                    onOpen: () => {
                        wait = RETRY.first;
                        this.isLive = true;
                        this.#list(signal);
                    },
                    onPlace: (id) => { lastId = id; },
                    onEvent: (event) => this.#take(event, signal),
                });
            } catch {
                // Whatever it was: it is tried again, and the listings go on meanwhile.
            }
            seen.abort();
            this.isLive = false;
            if (this.refusal !== null) return;
            await pause(wait, signal);
            wait = Math.min(2 * wait, RETRY.last);
        }
    }

    #take({ type, data }, signal) {
        if (type === "reset") {
            this.#list(signal);
            this.dispatchEvent(new CustomEvent("entry", { detail: {} }));
        } else if (type.startsWith("download.")) {
            const problem = data.error === undefined ? {} : { problem: data.error };
            this.downloads.apply({ ...data, ...problem }, performance.now());
            this.#announce();
        } else if (type.startsWith("entry.")) {
            this.dispatchEvent(new CustomEvent("entry", { detail: data }));
        }
    }

    /** At most once for each picture that the browser makes, however much happens. */
    #announce() {
        if (this.#isAnnounced) return;
        this.#isAnnounced = true;
        requestAnimationFrame(() => {
            this.#isAnnounced = false;
            this.dispatchEvent(new Event("downloads"));
        });
    }

    async #listWhenDue(signal) {
        const age = performance.now() - this.#listedAt;
        const pause = this.isLive ? LISTING.live : LISTING.asked;
        if (this.refusal === null && age >= pause) await this.#list(signal);
    }

    async #list(signal) {
        try {
            const listing = await this.#api.json("GET", "downloads", { query: { limit: LISTED }, signal });
            if (signal.aborted) return;
            this.#listedAt = performance.now();
            this.downloads.replace(listing, this.#listedAt);
        } catch (error) {
            if (signal.aborted) return;
            // What may not be seen is not asked for again; what could not be had now is.
            if (error.status === 403 || error.status === 404) this.refusal = error;
        }
        this.#announce();
    }
}
