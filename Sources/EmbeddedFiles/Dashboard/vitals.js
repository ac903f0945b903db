/** Reads the server's counters every two seconds while the page is visible. */

import { every } from "./poll.js";
import { Readings } from "./readings.js";

const INTERVAL = 2000;

/** Dispatches `reading` after each attempt, successful or not. */
export class Vitals extends EventTarget {
    #api;
    #readings = new Readings();

    /** The reason why the last attempt failed; `null` if it succeeded. */
    failure = null;

    constructor(api) {
        super();
        this.#api = api;
    }

    /** See ``Readings/list``. */
    get readings() { return this.#readings.list; }

    get latest() { return this.#readings.latest; }

    watch(signal) {
        every(INTERVAL, () => this.#look(signal), signal);
    }

    async #look(signal) {
        // The page stops reading the counters if the user may not read them.
        if (this.failure?.status === 403) return;
        try {
            const [stats, metrics] = await Promise.all([
                this.#api.json("GET", "stats", { signal }), this.#api.text("GET", "metrics", { signal }),
            ]);
            this.#readings.add(stats, metrics, Date.now());
            this.failure = null;
        } catch (error) {
            this.failure = error;
        }
        this.dispatchEvent(new Event("reading"));
    }
}
