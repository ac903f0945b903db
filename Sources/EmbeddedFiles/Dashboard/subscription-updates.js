import { every } from "./poll.js";
import { oneAtATime } from "./repeat.js";

/** The shortest time in milliseconds between two readings. */
const REST = 500;
/**
 * The time in milliseconds between two readings: `busy` during a refresh, which has no events before its end, and
 * without an event stream; `idle` otherwise, because no event tells about a new definition or a purged copy.
 */
const ASKED = { busy: 1000, idle: 30_000 };

/**
 * Calls `look` now and after each event of a subscription until the context's signal aborts. Returns a function that
 * calls `look` again.
 *
 * @param {object} handlers `look()`: reads the subscriptions, and shows a failure; `isBusy()`: whether a refresh is
 *     running or due; `concerns(name)`: whether a subscription is shown, by default true
 */
export function followSubscriptions({ activity, signal }, { look, isBusy, concerns = () => true }) {
    let askedAt = 0;
    const load = oneAtATime(() => {
        askedAt = performance.now();
        return look();
    }, signal, REST);
    activity.addEventListener("subscription", ({ detail: { name } }) => {
        if (name === undefined || concerns(name)) load();
    }, { signal });
    activity.addEventListener("open", load, { signal });
    load();
    every(ASKED.busy, () => {
        const age = performance.now() - askedAt;
        if (age >= (isBusy() || !activity.isLive ? ASKED.busy : ASKED.idle)) load();
    }, signal);
    return load;
}
