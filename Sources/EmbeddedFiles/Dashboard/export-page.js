import { h } from "./dom.js";

/** The time in milliseconds after which the copy in memory is freed. The browser has read it by then. */
const STAY = 60_000;

/**
 * Saves a capture as a file of the browser's downloads. The file is fetched with the token, which a link cannot send.
 * An incomplete file is not saved.
 *
 * @param {string} format `warc` or `wacz`
 * @param {number|null} capture the number of the capture; `null` for the newest
 */
export async function exportPage(api, key, format, capture) {
    const path = `pages/${encodeURIComponent(key)}/export`;
    const response = await api.open("GET", path, { query: { format, capture } });
    const name = /filename="([\w.-]+)"/.exec(response.headers.get("Content-Disposition"))?.[1] ?? `${key}.${format}`;
    const address = URL.createObjectURL(await response.blob());
    h("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), STAY);
}
