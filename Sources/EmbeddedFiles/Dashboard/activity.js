import { DownloadsModel } from "./downloads-model.js";
import { readEvents } from "./events.js";
import { every, pause, untilVisible } from "./poll.js";

/** The time between listings in milliseconds: `live` with an open event stream, `asked` without an event stream. */
const LISTING = { live: 120_000, asked: 1000 };
/** The number of listed downloads, which is also the number of shown downloads. Each takes about 800 bytes. */
const LISTED = 120;
/** The wait before the event stream is requested again, in milliseconds: the first wait, and the longest. */
const RETRY = { first: 1000, last: 30_000 };

/** The name of the dispatched event for each family of the server's events, which all begin with the family's word. */
const FAMILIES = { entry: "entry", page: "page", subscription: "subscription", outbox: "change" };

/**
 * Follows `GET /events`, and lists the downloads repeatedly: often without an event stream, rarely with it.
 *
 * Dispatches `downloads` when ``downloads`` have changed, `entry` when an entry may have changed, `page` for each event
 * of a capture, `subscription` for each new, refreshed, failing or removed subscription, and `change` for each new state
 * of a change in the outbox. The `detail` of `entry` and `page` has the `key`, that of `subscription` the `name`, and that
 * of `change` the `id`; without this member, any of them may have changed. The `detail` also has the `type` of the
 * event. Dispatches `open` when the event stream opens, because earlier events may have been missed. A hidden page
 * follows no events, because browsers open only six connections to a server, and the stream takes one of them.
 */
export class Activity extends EventTarget {
    #api;
    #following = new AbortController();
    #listedAt = -Infinity;
    #isAnnounced = false;

    downloads = new DownloadsModel();
    /** The error if the server refuses to list downloads; `null` otherwise. */
    refusal = null;
    isLive = false;

    constructor(api) {
        super();
        this.#api = api;
    }

    /** Starts again in the current namespace of the API. */
    follow() {
        this.#following.abort();
        this.#following = new AbortController();
        const { signal } = this.#following;
        this.isLive = false;
        // The page lists the downloads when the event stream opens, or after a second if no stream has opened.
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
                        this.dispatchEvent(new Event("open"));
                    },
                    onPlace: (id) => { lastId = id; },
                    onEvent: (event) => this.#take(event, signal),
                });
            } catch {
                // After any failure the page requests the stream again. Until then it lists the downloads.
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
            for (const name of Object.values(FAMILIES)) this.dispatchEvent(new CustomEvent(name, { detail: {} }));
        } else if (type.startsWith("download.")) {
            const problem = data.error === undefined ? {} : { problem: data.error };
            this.downloads.apply({ ...data, ...problem }, performance.now());
            this.#announce();
        } else {
            const [family] = type.split(".");
            if (!Object.hasOwn(FAMILIES, family)) return;
            this.dispatchEvent(new CustomEvent(FAMILIES[family], { detail: { ...data, type } }));
        }
    }

    /** Dispatches `downloads` at most once per frame of the browser. */
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
            // A refused listing is not repeated. A listing that failed for another reason is repeated.
            if (error.status === 403 || error.status === 404) this.refusal = error;
        }
        this.#announce();
    }
}
