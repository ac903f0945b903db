/** The downloads of a namespace, combined from listings and events. */

const ENDED = 100;
/** The shortest time over which a speed is measured, in milliseconds, and the weight of each new measurement. */
const SPAN = 300;
const WEIGHT = 0.4;

/** One download: its status from the API, and its current speed. */
class Download {
    #sample;

    constructor(status, time) {
        this.status = status;
        /** The recent speed in bytes per second. The server's `bytesPerSecond` is the average since the start. */
        this.speed = status.bytesPerSecond;
        this.#sample = { time, bytes: status.receivedBytes };
    }

    get isRunning() { return this.status.state === "running"; }

    /** The received share, from 0 to 1; `null` if the length is unknown. */
    get share() {
        const { receivedBytes, totalBytes } = this.status;
        return totalBytes > 0 ? Math.min(1, receivedBytes / totalBytes) : null;
    }

    /** The seconds until the end at the current speed; `null` if the length is unknown or no bytes arrive. */
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
    /** The downloads by key. The latest to start or end come last. */
    #downloads = new Map();

    /** Whether the server has more running downloads than are listed here. */
    hasMoreRunning = false;

    /** The running downloads, the latest start first. */
    get running() {
        return [...this.#downloads.values()].filter((download) => download.isRunning)
            .sort((a, b) => compare(b.status.startDate, a.status.startDate) || compare(a.status.key, b.status.key));
    }

    /** The ended downloads, the latest end first. */
    get ended() {
        return [...this.#downloads.values()].filter((download) => !download.isRunning).reverse();
    }

    replace({ downloads, more }, time) {
        const before = this.#downloads;
        this.#downloads = new Map();
        // Listings begin with the running downloads. If a listing includes an ended download, it includes all running
        // downloads.
        this.hasMoreRunning = more && downloads.every(({ state }) => state === "running");
        for (const status of downloads.toReversed()) {
            const known = before.get(status.key);
            if (known !== undefined) this.#downloads.set(status.key, known);
            this.apply(status, time);
        }
    }

    /** Adds or updates the download of a status from an event or a listing. */
    apply(status, time) {
        const known = this.#downloads.get(status.key);
        // A hit ends no download, so its event is ignored. `fromCache` with a known start date is the end of a
        // revalidation.
        if (status.fromCache && known?.status.startDate !== status.startDate) return;
        const order = known === undefined ? 1 : compare(status.startDate, known.status.startDate);
        if (order > 0) {
            this.#putLast(new Download(status, time));
            for (const { status: { key } } of this.ended.slice(ENDED)) this.#downloads.delete(key);
            return;
        }
        // An older listing may arrive after an event, so a known ended download stays ended.
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
