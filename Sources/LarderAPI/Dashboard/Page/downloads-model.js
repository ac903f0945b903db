/** The downloads of a namespace, put together from listings and events. */

/** So many that have ended are kept. */
const ENDED = 100;
/** A speed is measured over at least so many milliseconds, and a new measurement counts for so much of it. */
const SPAN = 300;
const WEIGHT = 0.4;

/** One download: its status as the API has it, and how fast it is now. */
class Download {
    #sample;

    constructor(status, time) {
        this.status = status;
        /** Bytes a second, lately; what the server says is the average since the start. */
        this.speed = status.bytesPerSecond;
        this.#sample = { time, bytes: status.receivedBytes };
    }

    get isRunning() { return this.status.state === "running"; }

    /** From 0 to 1; `null` when nobody knows how long it will be. */
    get share() {
        const { receivedBytes, totalBytes } = this.status;
        return totalBytes > 0 ? Math.min(1, receivedBytes / totalBytes) : null;
    }

    /** Seconds until it is done, at this speed; `null` when that cannot be said. */
    get secondsLeft() {
        const { receivedBytes, totalBytes } = this.status;
        return totalBytes === null || this.speed <= 0 ? null : (totalBytes - receivedBytes) / this.speed;
    }

    update(status, time) {
        const elapsed = time - this.#sample.time;
        if (elapsed >= SPAN) {
            const measured = Math.max(0, status.receivedBytes - this.#sample.bytes) / elapsed * 1000;
            this.speed += WEIGHT * (measured - this.speed);
            this.#sample = { time, bytes: status.receivedBytes };
        }
        this.status = { ...this.status, ...status };
    }
}

export class DownloadsModel {
    /** By key; those that began or ended last come last. */
    #downloads = new Map();

    /** Whether more run than are known here. */
    hasMoreRunning = false;

    /** Those that run, the latest start first. */
    get running() {
        return [...this.#downloads.values()].filter((download) => download.isRunning)
            .sort((a, b) => compare(b.status.startDate, a.status.startDate) || compare(a.status.key, b.status.key));
    }

    /** Those that have ended, the latest end first. */
    get ended() {
        return [...this.#downloads.values()].filter((download) => !download.isRunning).reverse();
    }

    /** Takes a listing, `GET /downloads`, for all that there is. */
    replace({ downloads, more }, time) {
        const before = this.#downloads;
        this.#downloads = new Map();
        // Those that run come first: beside one that has ended, none that runs is left out.
        this.hasMoreRunning = more && downloads.every(({ state }) => state === "running");
        for (const status of downloads.toReversed()) {
            const known = before.get(status.key);
            if (known !== undefined) this.#downloads.set(status.key, known);
            this.apply(status, time);
        }
    }

    /** Takes the status of one, as an event brings it. */
    apply(status, time) {
        const known = this.#downloads.get(status.key);
        // What the cache answered by itself is no download; what the origin has confirmed is the end of one.
        if (status.fromCache && known?.status.startDate !== status.startDate) return;
        const order = known === undefined ? 1 : compare(status.startDate, known.status.startDate);
        if (order > 0) {
            this.#putLast(new Download(status, time));
            for (const { status: { key } } of this.ended.slice(ENDED)) this.#downloads.delete(key);
            return;
        }
        // An event may have been faster than a listing: what has ended does not run again.
        if (order < 0 || (!known.isRunning && status.state === "running")) return;
        const wasRunning = known.isRunning;
        known.update(status, time);
        if (wasRunning && !known.isRunning) this.#putLast(known);
    }

    clear() {
        this.#downloads.clear();
        this.hasMoreRunning = false;
    }

    #putLast(download) {
        this.#downloads.delete(download.status.key);
        this.#downloads.set(download.status.key, download);
    }
}

function compare(a, b) {
    return a < b ? -1 : a > b ? 1 : 0;
}
