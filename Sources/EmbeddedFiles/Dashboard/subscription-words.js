/** The facts of a subscription in words. */

import { secondsUntil } from "./clock.js";
import { h, say } from "./dom.js";
import { count, counted, dateTime, duration } from "./format.js";
import { visible } from "./name.js";

const KINDS = { feed: "Feed", sitemap: "Sitemap", pages: "Paged list", urls: "URLs", capture: "Pages" };

/** Returns the kind of a source as a word, and its URL; the URL is `null` for a list of URLs. */
export function sourceOf({ definition: { source } }) {
    const kind = Object.keys(KINDS).find((name) => source[name] !== undefined && source[name] !== null);
    if (kind === undefined) return { kind: "Source", url: null };
    const list = source[kind];
    return Array.isArray(list)
        ? { kind: counted(list.length, kind === "capture" ? "page" : "URL"), url: null }
        : { kind: KINDS[kind], url: list };
}

/** Returns an element with the source. */
export function sourceLine(subscription) {
    const { kind, url } = sourceOf(subscription);
    return h("span.foreign", {}, kind, url !== null && " ", url !== null && h("span.mono", {}, visible(url)));
}

/** Returns the chips of a subscription: its state, a running refresh, and a failing source. */
export function chipsOf({ state, refreshing, sourceProblem }) {
    return [
        h(`span.chip.${state}`, {}, state),
        refreshing && h("span.chip.running", {}, "refreshing"),
        sourceProblem && h("span.chip.failed", {}, "source fails"),
    ];
}

/** Whether the subscription may change without an event: a refresh is running or due. */
export function isBusy({ refreshing, nextRefresh }) {
    return refreshing || secondsUntil(nextRefresh) <= 0;
}

/** The share of the wanted resources that readers have. */
export class Completeness {
    #bar = h("progress", { max: 1, value: 0 });
    #words = h("p.small.muted");

    constructor(name) {
        this.#bar.setAttribute("aria-label", `Held resources of ${name}`);
        this.element = h("div.completeness", {}, this.#bar, this.#words);
    }

    show({ wanted, held, missingCount, generation }) {
        this.#bar.value = wanted > 0 ? held / wanted : 0;
        this.#bar.classList.toggle("full", missingCount > 0);
        say(this.#words, generation === 0 && wanted === 0
            ? "The list has not been read yet."
            : `${count(held)} of ${count(wanted)} held${missingCount > 0 ? `, ${count(missingCount)} missing` : ""}`);
    }
}

/** Returns the known facts of a definition in words, with the names of request fields, and without their values. */
export function definitionFacts({ definition }, link) {
    const { source, latest, interval, adaptive, ttl, quietHours, headers = {}, credential, tags = [] } = definition;
    const seconds = (value) => value === null || value === undefined ? null : duration(value);
    const fields = Object.keys(headers ?? {}).map(visible).join(", ");
    return [
        ["Enclosures", source.enclosures && "held, too"],
        ["Next page", source.next && visible(source.next)],
        ["Items at", source.items && visible(source.items)],
        ["Latest", latest && count(latest)],
        ["Interval", adaptive ? `adaptive, ${duration(adaptive.min)} to ${duration(adaptive.max)}` : seconds(interval)],
        ["TTL", seconds(ttl) ?? "until the next refresh"],
        ["Requests", `${count(definition.concurrencyPerHost ?? 1)} at a time to a host, ${gap(definition.minGap)}`],
        ["Quiet hours", quietHours && `${quietHours} UTC`],
        ["Longest delay", seconds(definition.maxDelay)],
        ["May shrink", definition.allowShrink ? "yes" : "by half at most"],
        ["Request fields", fields],
        ["Credential", credential && visible(credential)],
        ["Tags", tags?.length > 0 && h(
            "span.chips", {},
            ...tags.map((tag) => h("a.chip.foreign", { href: link("entries", { tag }) }, visible(tag))))],
    ].filter(([, value]) => value);
}

function gap(seconds = 0) {
    return seconds === 0 ? "without pauses" : `${seconds < 1 ? `${seconds * 1000} ms` : duration(seconds)} apart`;
}

/** Returns a lasting failure of the source, as in `the origin answered with status 500 (since 31 Jan 2026, 08:05)`. */
export function sourceProblemOf({ sourceProblem: problem }) {
    return problem === null ? "" : `${visible(problem.reason)} (since ${dateTime(problem.since)})`;
}
