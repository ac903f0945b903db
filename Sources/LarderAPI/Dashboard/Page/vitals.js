/** Looks at the server's counters every two seconds, as long as the page can be seen. */

import { every } from "./poll.js";
import { Readings } from "./readings.js";

const INTERVAL = 2000;

/** Says `reading` after each look, whether there was something to be seen or not. */
export class Vitals extends EventTarget {
    #api;
    #readings = new Readings();

    /** Why the last look saw nothing; `null` when it did. */
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
        // Who may not see them is not told so every two seconds.
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
