/**
 * Readings of the server's counters, and rates between two readings. This file sends no requests and creates no
 * elements.
 */

/** The time for which readings are kept, in milliseconds. */
export const SPAN = 300_000;
/** The time over which ratios and means are taken, in milliseconds. Between two readings there may be no requests. */
const WINDOW = 30_000;
/** Routes of counters, probes, events and page files. Their requests are not part of the load. */
const OWN_ROUTES = new Set([
    "getStats", "getMetrics", "getLiveness", "getReadiness", "getOpenAPI", "getDocs", "getDocsStyle", "getDashboard",
    "getDashboardFile", "listen",
]);

/** Yields the samples of Prometheus text: family name, label text and value. */
function* samples(text) {
    for (const line of text.split("\n")) {
        const match = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
        if (match !== null) yield { name: match[1], labels: match[2] ?? "", value: Number(match[3]) };
    }
}

/** Returns the needed counters of `/metrics`. */
function countersOf(text) {
    const counters = { requests: 0, originSeconds: 0, originCount: 0, disks: new Map() };
    const disk = (labels) => {
        const name = /namespace="([^"]*)"/.exec(labels)?.[1];
        if (!counters.disks.has(name)) counters.disks.set(name, { bytes: 0, limit: 0 });
        return counters.disks.get(name);
    };
    for (const { name, labels, value } of samples(text)) {
        if (name === "larder_download_duration_seconds_sum") counters.originSeconds = value;
        if (name === "larder_download_duration_seconds_count") counters.originCount = value;
        if (name === "larder_namespace_disk_bytes") disk(labels).bytes = value;
        if (name === "larder_namespace_disk_limit_bytes") disk(labels).limit = value;
        if (name === "larder_http_requests_total") {
            const route = /route="([^"]*)"/.exec(labels)?.[1];
            if (!OWN_ROUTES.has(route)) counters.requests += value;
        }
    }
    return counters;
}

export class Readings {
    #samples = [];

    /**
     * The readings, the latest last. Rate, ratio and time (in seconds) are `null` without data. `disks` has the use
     * and the limit of each namespace's disk space, by name.
     */
    list = [];

    get latest() { return this.list.at(-1) ?? null; }

    /** Adds a reading of `/stats` and `/metrics` at a time in milliseconds. */
    add(stats, metrics, time) {
        const sample = { time, stats, ...countersOf(metrics) };
        // A restarted server counts from 0 again.
        if (this.#samples.at(-1)?.stats.startDate !== stats.startDate) this.#samples = [];
        const before = this.#samples.at(-1);
        this.#samples = [...this.#samples.filter((old) => old.time >= time - WINDOW), sample];
        const first = this.#samples[0];
        const hits = stats.hits - first.stats.hits;
        const reading = {
            time,
            stats,
            disks: sample.disks,
            requestRate: before ? quotient(sample.requests - before.requests, (time - before.time) / 1000) : null,
            hitRatio: quotient(hits, hits + stats.misses - first.stats.misses),
            originTime: quotient(sample.originSeconds - first.originSeconds, sample.originCount - first.originCount),
        };
        this.list = [...this.list.filter((old) => old.time >= time - SPAN), reading];
    }
}

function quotient(dividend, divisor) {
    return divisor > 0 ? dividend / divisor : null;
}
