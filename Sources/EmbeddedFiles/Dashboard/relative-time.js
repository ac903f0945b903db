import { secondsUntil } from "./clock.js";
import { h } from "./dom.js";
import { dateTime, duration } from "./format.js";

/** Returns a time as `in 3 h` or `12 s ago`; its tooltip shows the exact time. */
export function relativeTime(instant) {
    const seconds = secondsUntil(instant);
    const distance = duration(Math.abs(seconds), 1);
    const text = seconds > 0 ? `in ${distance}` : seconds > -1 ? "just now" : `${distance} ago`;
    return h("time", { datetime: instant, title: dateTime(instant) }, text);
}
