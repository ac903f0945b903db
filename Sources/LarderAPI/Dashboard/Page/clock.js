/** The server's clock: by that, not by this machine's, is an entry fresh or stale. */

/** HTTP's dates have whole seconds, and an answer takes its time: less than this is no difference. */
const TOLERANCE = 2000;

let offset = 0;

/** Sets the clock by the `Date` field of an answer that has just come. */
export function setClock(date) {
    const difference = Date.parse(date) - Date.now();
    offset = Math.abs(difference) > TOLERANCE ? difference : 0;
}

/** Milliseconds since 1970, by the server's clock. */
export function now() {
    return Date.now() + offset;
}

/** Seconds until an RFC 3339 text; negative when that was before. */
export function secondsUntil(text) {
    return (Date.parse(text) - now()) / 1000;
}
