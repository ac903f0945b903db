/** The name of an entry or a download: its URL, or its key if it has no URL. */

import { h } from "./dom.js";

/** Returns an element with the name. The part behind the host is emphasised, because it distinguishes the names. */
export function nameOf(url, key) {
    const parts = /^([a-z]+:\/\/[^/?#]*)(.+)$/s.exec(url ?? "");
    if (parts === null) return h("span.foreign", {}, visible(url ?? key));
    const [, origin, rest] = parts;
    return h("span.foreign", {}, h("span.muted", {}, origin), visible(rest));
}

/** Characters that take no room or change the direction of writing. With them one name can look like another. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Returns the text with each hidden character replaced by its number. */
export function visible(text) {
    return text.replace(HIDDEN, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
}
