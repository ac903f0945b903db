import { Chart } from "./chart.js";
import { h, say } from "./dom.js";
import { DownloadList } from "./download-list.js";
import { downloadForm } from "./download-form.js";
import { Trouble } from "./failure.js";
import { bytes, count, counted, duration, latency, percent, rate } from "./format.js";

/** The share of a limit above which the bar changes its colour. */
const ALMOST = 0.9;
/** The number of downloads in the overview. The view `downloads` has all of them. */
const SHOWN = 5;

/** Describes the limit of the namespace, the use by all namespaces if there are several, and the free space. */
function diskRemark({ stats, disks }, namespace) {
    const disk = disks.get(namespace);
    const own = disk === undefined ? "this namespace does not exist" : `of ${bytes(disk.limit)}`;
    const name = disks.size > 1 && disk !== undefined ? ` in ${namespace}` : "";
    const all = disks.size > 1 ? `; ${bytes(stats.diskBytes)} of ${bytes(stats.diskLimit)} in all` : "";
    const free = stats.diskFreeBytes === null ? "" : `; ${bytes(stats.diskFreeBytes)} free`;
    return own + name + all + free;
}

/** For each tile, functions of a reading and the chosen namespace: the value, the remark beside it, and its limit. */
const TILES = [
    {
        label: "Requests", format: (value) => `${rate(value)}/s`, value: ({ requestRate }) => requestRate,
        remark: () => "without probes, counters and dashboard files",
    },
    {
        label: "Hit ratio", format: percent, ceiling: 1, value: ({ hitRatio }) => hitRatio,
        remark: ({ stats: { hits, misses } }) =>
            hits + misses === 0 ? "no requests yet" : `${percent(hits / (hits + misses))} since the start`,
    },
    {
        label: "Origin time", format: latency, value: ({ originTime }) => originTime,
        remark: () => "mean of transfers that ended in 30 s",
    },
    {
        label: "Memory", format: bytes, value: ({ stats }) => stats.memoryBytes,
        limit: ({ stats }) => stats.currentMemoryLimit,
        remark: ({ stats: { currentMemoryLimit, memoryLimit } }) =>
            currentMemoryLimit < memoryLimit
                ? `of ${bytes(currentMemoryLimit)} while memory is short, otherwise ${bytes(memoryLimit)}`
                : `of ${bytes(memoryLimit)}`,
    },
    {
        label: "Disk", format: bytes, value: (reading, namespace) => reading.disks.get(namespace)?.bytes ?? null,
        limit: (reading, namespace) => reading.disks.get(namespace)?.limit ?? 0,
        remark: diskRemark,
    },
    {
        label: "Downloads", format: count, value: ({ stats }) => stats.downloads.running,
        remark: ({ stats: { downloads } }) =>
            `${count(downloads.queued)} queued, ${count(downloads.downloaded + downloads.revalidated)} done, `
            + `${count(downloads.failed)} failed`,
    },
];

class Tile {
    #plan;
    #value = h("p.value", {}, "–");
    #remark = h("p.remark");
    #bar;
    #chart;

    constructor(plan) {
        this.#plan = plan;
        this.#chart = new Chart(plan);
        const name = `${plan.label}, share of the limit`;
        this.#bar = plan.limit && h("progress.thin", { max: 1, value: 0, "aria-label": name });
        this.element = h(
            "section.tile", {}, h("h2", {}, plan.label), this.#value,
            this.#bar && h("div", {}, this.#bar), this.#remark, this.#chart.element);
    }

    show(readings, namespace) {
        const { value, format, remark, limit } = this.#plan;
        const latest = readings.at(-1);
        const current = value(latest, namespace);
        say(this.#value, current === null ? "–" : format(current));
        say(this.#remark, remark(latest, namespace));
        const most = limit?.(latest, namespace);
        if (this.#bar) {
            this.#bar.value = most > 0 ? current / most : 0;
            this.#bar.classList.toggle("full", current > ALMOST * most);
        }
        this.#chart.draw(readings.map((reading) => ({ time: reading.time, value: value(reading, namespace) })), most);
    }
}

export function overviewView(context) {
    const { api, vitals, activity, signal, link } = context;
    const tiles = TILES.map((plan) => new Tile(plan));
    const grid = h("div.tiles", {}, ...tiles.map((tile) => tile.element));
    const facts = h("p.muted.small");
    const trouble = new Trouble("The counters cannot be read");
    const list = new DownloadList(context, "No downloads are running.");
    const rest = h("a.small", { href: link("downloads") }, "All downloads");

    function showReadings() {
        const { failure, latest } = vitals;
        grid.hidden = latest === null && failure !== null;
        trouble.show(failure);
        if (latest === null) return;
        const { version, uptimeSeconds, entries } = latest.stats;
        say(facts, `Larder ${version}, up ${duration(uptimeSeconds)}, ${counted(entries, "entry", "entries")}`);
        for (const tile of tiles) tile.show(vitals.readings, api.namespace ?? "default");
    }

    function showDownloads() {
        const { running, hasMoreRunning } = activity.downloads;
        list.show(running.slice(0, SHOWN), activity.refusal);
        say(rest, running.length > SHOWN && !hasMoreRunning ? `All ${running.length} downloads` : "All downloads");
    }

    vitals.addEventListener("reading", showReadings, { signal });
    activity.addEventListener("downloads", showDownloads, { signal });
    showReadings();
    showDownloads();
    const element = h(
        "div.view", {},
        h("div.view-head", {}, h("h1", { tabindex: -1 }, "Overview"), facts),
        trouble.element, grid,
        h("div.columns", {},
            h("section.panel", {}, h("div.panel-head", {}, h("h2", {}, "In flight"), rest), list.element),
            h("section.panel", {}, h("h2", {}, "Download a URL"), downloadForm(context))));
    return { title: "Overview", element };
}
