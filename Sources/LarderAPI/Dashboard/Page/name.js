/** The name of an entry or of a download: its URL, else its key. */

import { h } from "./dom.js";

/** A name in which the part that distinguishes it, what follows the host, stands out. */
export function nameOf(url, key) {
    const parts = /^([a-z]+:\/\/[^/?#]*)(.+)$/s.exec(url ?? "");
    if (parts === null) return h("span.foreign", {}, url ?? key);
    const [, origin, rest] = parts;
    return h("span.foreign", {}, h("span.muted", {}, origin), rest);
}
