/** The server's clock. It decides whether an entry is fresh or stale, not the clock of this machine. */

/** Smaller differences in milliseconds are ignored, because HTTP dates have whole seconds and an answer takes time. */
const TOLERANCE = 2000;

let offset = 0;

/** Sets the clock by the `Date` field of an answer that has just arrived. */
export function setClock(date) {
    const difference = Date.parse(date) - Date.now();
    offset = Math.abs(difference) > TOLERANCE ? difference : 0;
}

/** Returns the server's time in milliseconds since 1970. */
export function now() {
    return Date.now() + offset;
}

/** Returns the seconds until an RFC 3339 time; negative if that time has passed. */
export function secondsUntil(text) {
    return (Date.parse(text) - now()) / 1000;
}
