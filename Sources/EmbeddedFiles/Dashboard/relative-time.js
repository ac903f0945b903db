import { secondsUntil } from "./clock.js";
import { h, say } from "./dom.js";
import { dateTime, duration } from "./format.js";
import { every } from "./poll.js";

/** Returns a time as `in 3 h` or `12 s ago`; its tooltip shows the exact time. */
export function relativeTime(instant) {
    return h("time.relative", { datetime: instant, title: dateTime(instant) }, distanceOf(instant));
}

/** Keeps the relative times in an element right until the signal aborts. */
export function keepRelativeTimes(element, signal) {
    every(1000, () => {
        for (const time of element.querySelectorAll("time.relative")) say(time, distanceOf(time.dateTime));
    }, signal);
}

function distanceOf(instant) {
    const seconds = secondsUntil(instant);
    const distance = duration(Math.abs(seconds), 1);
    return seconds > 0 ? `in ${distance}` : seconds > -1 ? "just now" : `${distance} ago`;
}
