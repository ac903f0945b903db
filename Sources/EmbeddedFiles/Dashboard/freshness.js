import { secondsUntil } from "./clock.js";
import { fill, h, say } from "./dom.js";
import { dateTime, duration } from "./format.js";
import { every } from "./poll.js";

export class Freshness {
    #entry = null;
    #onExpiry;
    #title = h("h2");
    #left = h("p.countdown");
    #bar = h("progress", { max: 1, value: 0, "aria-label": "Remaining part of the TTL" });
    #until = h("p.muted.small");

    /** @param {() => void} onExpiry called once when a fresh entry expires */
    constructor(signal, onExpiry) {
        this.#onExpiry = onExpiry;
        this.element = h("div.field", {}, this.#title, this.#left, this.#bar, this.#until);
        every(1000, () => this.#tick(), signal);
    }

    show(entry) {
        this.#entry = entry;
        const instant = h("time", { datetime: entry.expiryDate }, dateTime(entry.expiryDate));
        fill(this.#until, entry.state === "fresh" ? "until " : "since ", instant,
            `; TTL ${duration(entry.expiresInSeconds)}`);
        this.#draw();
    }

    /** Reports the expiry. `show` does not report it, because the server may still call a reloaded entry fresh. */
    #tick() {
        if (this.#entry === null) return;
        const left = this.#draw();
        if (this.#entry.state === "fresh" && left <= 0) {
            this.#entry = { ...this.#entry, state: "stale" };
            this.#onExpiry();
        }
    }

    #draw() {
        const { expiryDate, expiresInSeconds } = this.#entry;
        const left = secondsUntil(expiryDate);
        say(this.#title, left > 0 ? "Fresh for" : "Stale for");
        say(this.#left, duration(Math.abs(left), 3));
        this.#bar.value = left > 0 && expiresInSeconds > 0 ? Math.min(1, left / expiresInSeconds) : 0;
        return left;
    }
}
