/**
 * A preview of an entry's body. The body comes from elsewhere, so it is fetched as bytes and never becomes part of the
 * page. Any text (including HTML and SVG) becomes a single text node. Images are shown only in formats that cannot
 * contain a script, from a copy in memory that has one of a few fixed types.
 */

import { fill, h } from "./dom.js";
import { failureNote } from "./failure.js";
import { bytes } from "./format.js";
import { indented, paint } from "./json-text.js";

const IMAGES = new Set([
    "image/avif", "image/bmp", "image/gif", "image/jpeg", "image/png", "image/webp", "image/x-icon",
    "image/vnd.microsoft.icon",
]);
const TEXTS = /^(text\/.*|image\/svg\+xml|application\/(.*\+)?(json|xml|yaml|javascript|x-ndjson|jsonl))$/;
const JSONS = /^(application|text)\/(.*\+)?json$/;
/** The most bytes that are read, by kind. */
const MOST = { text: 256 << 10, image: 16 << 20, hex: 512 };

/** Shows the preview of an entry in `element`. The signal ends the preview, and frees its resources. */
export async function showPreview(element, entry, api, signal) {
    const type = (entry.contentType ?? "").split(";")[0].trim().toLowerCase();
    const kind = IMAGES.has(type) ? "image" : TEXTS.test(type) ? "text" : "hex";
    fill(element, h("p.muted.small", {}, "Reading the body …"));
    try {
        const path = `entries/${encodeURIComponent(entry.key)}/content`;
        const response = await api.open("GET", path, { query: { stale: true }, signal });
        const { data, isWhole } = await readSome(response, MOST[kind]);
        signal.throwIfAborted();
        const body = { image: imageOf, text: textOf, hex: hexOf }[kind](data, { type, isWhole, entry, signal });
        const rest = isWhole ? null : h(
            "p.muted.small", {}, `The first ${bytes(data.length)} of the body`
            + `${kind === "image" ? ", which are too few to show the image" : ""}.`);
        fill(element, body, rest);
    } catch (error) {
        if (!signal.aborted) fill(element, failureNote("The body cannot be read", error));
    }
}

/** Reads the beginning of a body. The request has no range, because a range of an encoded body could not be decoded. */
async function readSome(response, most) {
    const reader = response.body.getReader();
    const pieces = [];
    let length = 0;
    while (length <= most) {
        const { done, value } = await reader.read();
        if (done) break;
        pieces.push(value);
        length += value.length;
    }
    await reader.cancel();
    const data = new Uint8Array(await new Blob(pieces).arrayBuffer());
    return { data: data.subarray(0, most), isWhole: length <= most };
}

function imageOf(data, { type, isWhole, entry, signal }) {
    if (!isWhole) return null;
    const address = URL.createObjectURL(new Blob([data], { type }));
    signal.addEventListener("abort", () => URL.revokeObjectURL(address));
    const size = h("p.muted.small", { role: "status" });
    const image = h("img", {
        src: address, alt: `The body of ${entry.url ?? entry.key}`,
        load: () => fill(size, `${image.naturalWidth} × ${image.naturalHeight} pixels`),
        error: () => fill(size, "This browser cannot show the image."),
    });
    return h("div.field", {}, h("div.body-image", {}, image), size);
}

function textOf(data, { type, isWhole, entry, signal }) {
    const text = decode(data, entry.contentType);
    const json = isWhole && JSONS.test(type) ? indented(text) : null;
    const node = document.createTextNode(json?.text ?? text);
    if (json !== null) paint(node, json.marks, signal);
    return h("pre.body-text", { tabindex: 0, role: "region", "aria-label": "Body" }, node);
}

/** Decodes text in the charset of its type, else in UTF-8. Undecodable bytes become replacement characters. */
function decode(data, contentType) {
    const charset = /;\s*charset="?([^";\s]+)/i.exec(contentType)?.[1] ?? "utf-8";
    try {
        return new TextDecoder(charset).decode(data);
    } catch {
        return new TextDecoder().decode(data);
    }
}

/** Returns lines of an offset, sixteen bytes, and their ASCII characters. */
function hexOf(data) {
    const lines = [];
    for (let offset = 0; offset < data.length; offset += 16) {
        const row = [...data.subarray(offset, offset + 16)];
        const hex = row.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
        const text = row.map((byte) => byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".").join("");
        lines.push(`${offset.toString(16).padStart(4, "0")}  ${hex.padEnd(47)}  ${text}`);
    }
    const name = "Body, in hexadecimal";
    return h("pre.body-text.hex", { tabindex: 0, role: "region", "aria-label": name }, lines.join("\n"));
}
