/** The name of an entry or of a download: its URL, else its key. */

import { h } from "./dom.js";

/** A name in which the part that distinguishes it, what follows the host, stands out. */
export function nameOf(url, key) {
    const parts = /^([a-z]+:\/\/[^/?#]*)(.+)$/s.exec(url ?? "");
    if (parts === null) return h("span.foreign", {}, visible(url ?? key));
    const [, origin, rest] = parts;
    return h("span.foreign", {}, h("span.muted", {}, origin), visible(rest));
}

/** Takes no room, or turns the direction of writing round: by such a character one name can look like another. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A text in which each character that hides is written as its number. */
export function visible(text) {
    return text.replace(HIDDEN, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
}
