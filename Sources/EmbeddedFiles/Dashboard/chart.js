/** A small chart of the last five minutes. */

import { h, say, svg } from "./dom.js";
import { SPAN } from "./readings.js";

/** The shortest time span of the chart, in milliseconds. */
const SHORTEST = 60_000;
const WIDTH = 300;
const HEIGHT = 64;
/** The room above the highest point, because the line has a width. */
const HEADROOM = 3;
/** Values with a longer gap between them, in milliseconds, are not joined by a line. */
const GAP = 10_000;

/** Draws a line over an area, against time. The label describes the chart in words for users who do not see it. */
export class Chart {
    #label;
    #format;
    #ceiling;
    #points = [];
    #span = SHORTEST;
    #area = svg("path", { class: "area" });
    #line = svg("path", { class: "line" });
    #limit = svg("path", { class: "limit" });
    #cursor = svg("path", { class: "cursor" });
    #reading = h("div.reading", { hidden: true, "aria-hidden": "true" });

    /** @param {number} ceiling the value at the upper edge; without a ceiling the edge follows the values */
    constructor({ label, format, ceiling }) {
        this.#label = label;
        this.#format = format;
        this.#ceiling = ceiling;
        this.svg = svg(
            "svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
            this.#area, this.#limit, this.#line, this.#cursor);
        this.element = h("div.chart", {
            pointermove: (event) => this.#point(event), pointerleave: () => this.#leave(),
        }, this.svg, this.#reading);
    }

    /**
     * @param {{time: number, value: number|null}[]} points the latest last; `null` if there is no value
     * @param {number} limit drawn as a second line if the values come near it
     */
    draw(points, limit = Infinity) {
        const now = points.at(-1)?.time ?? 0;
        this.#points = points;
        this.#span = Math.max(SHORTEST, Math.min(SPAN, now - (points[0]?.time ?? 0)));
        const values = points.map((point) => point.value).filter((value) => value !== null);
        const highest = Math.max(0, ...values);
        const isNear = limit <= 1.5 * highest;
        const top = this.#ceiling ?? (Math.max(highest, isNear ? limit : 0) || 1);
        const x = (time) => round(WIDTH * (1 - (now - time) / this.#span));
        const y = (value) => round(HEIGHT - (HEIGHT - HEADROOM) * value / top);
        const runs = runsOf(points);
        const lines = runs.map((run) => run.map(({ time, value }) => `${x(time)} ${y(value)}`).join("L"));
        this.#line.setAttribute("d", lines.map((line) => `M${line}`).join(""));
        this.#area.setAttribute("d", lines.map(
            (line, index) => `M${x(runs[index][0].time)} ${HEIGHT}L${line}L${x(runs[index].at(-1).time)} ${HEIGHT}Z`
        ).join(""));
        this.#limit.setAttribute("d", isNear ? `M0 ${y(limit)}H${WIDTH}` : "");
        this.svg.setAttribute("aria-label", this.#words(values, points.at(-1)?.value ?? null));
    }

    #words(values, latest) {
        if (values.length === 0) return `${this.#label}: no values in the last five minutes`;
        const now = latest === null ? "no current value" : `${this.#format(latest)} now`;
        const range = `${this.#format(Math.min(...values))} to ${this.#format(Math.max(...values))}`;
        return `${this.#label}: ${now}, ${range} in the last five minutes`;
    }

    #point(event) {
        const box = this.element.getBoundingClientRect();
        const time = (this.#points.at(-1)?.time ?? 0) - this.#span * (1 - (event.clientX - box.left) / box.width);
        const nearest = this.#points.filter((point) => point.value !== null).reduce(
            (best, point) => best !== null && Math.abs(best.time - time) <= Math.abs(point.time - time) ? best : point,
            null);
        this.#reading.hidden = nearest === null;
        if (nearest === null) return;
        const seconds = Math.round((this.#points.at(-1).time - nearest.time) / 1000);
        const x = round(WIDTH * (1 - seconds * 1000 / this.#span));
        this.#cursor.setAttribute("d", `M${x} 0V${HEIGHT}`);
        say(this.#reading, `${this.#format(nearest.value)}, ${seconds === 0 ? "now" : `${seconds} s ago`}`);
    }

    #leave() {
        this.#reading.hidden = true;
        this.#cursor.setAttribute("d", "");
    }
}

/** Returns the points in runs without gaps. A single point becomes two, so that its line is visible. */
function runsOf(points) {
    const runs = [];
    let last = null;
    for (const point of points) {
        if (point.value === null) {
            last = null;
            continue;
        }
        if (last === null || point.time - last.time > GAP) runs.push([]);
        runs.at(-1).push(point);
        last = point;
    }
    return runs.map((run) => run.length > 1 ? run : [{ ...run[0], time: run[0].time - 1000 }, run[0]]);
}

function round(number) {
    return Math.round(number * 10) / 10;
}
