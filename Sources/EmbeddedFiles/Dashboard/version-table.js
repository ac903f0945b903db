/** Versions of a text side by side, with marks at their differences. Bodies come from elsewhere and stay text. */

import { h } from "./dom.js";
import { count } from "./format.js";
import { visible } from "./name.js";

/** The equal lines that are shown before and after a difference. */
const CONTEXT = 3;
const VERDICTS = {
    theirs: "Only theirs differs from the base", ours: "Only ours differs from the base",
    both: "Both have the same edit", clash: "Both differ from the base",
};

/** @param {{sides: object[], chunks: object[]}} comparison as of `compare` */
export function versionTable({ sides, chunks }) {
    return h(
        "div.versions", { "data-sides": sides.length },
        h("div.sides.version-heads", {}, ...sides.map(({ name, title, about, absence }) => h(
            `div.side.${name}`, {}, h("h3", {}, title), h("p.small.muted", {}, absence ?? about)))),
        ...chunks.flatMap((chunk) => chunk.kind === "same" ? sameChunk(chunk, sides) : [changedChunk(chunk, sides)]));
}

function changedChunk(chunk, sides) {
    return h(
        `div.chunk.${chunk.kind}`, {}, h("p.verdict.small", {}, VERDICTS[chunk.kind]),
        h("div.sides", {}, ...sides.map(({ name, title }) => h(
            `div.side.${name}`, {}, h("span.side-name.small", {}, title),
            chunk[name].length > 0 ? textOf(chunk[name]) : h("p.small.muted", {}, "No such lines")))));
}

/** Returns equal lines. The middle of many lines is hidden until the user asks for it. */
function sameChunk(chunk, sides) {
    const { length } = chunk.base;
    if (length <= 2 * CONTEXT + 1) return [sameLines(chunk, sides, 0, length)];
    const middle = h("details", { toggle: () => {
        if (middle.childElementCount === 1) middle.append(sameLines(chunk, sides, CONTEXT, length - CONTEXT));
    } }, h("summary", {}, `${count(length - 2 * CONTEXT)} equal lines`));
    return [sameLines(chunk, sides, 0, CONTEXT), middle, sameLines(chunk, sides, length - CONTEXT, length)];
}

function sameLines(chunk, sides, start, end) {
    return h("div.chunk.same", {}, h("div.sides", {}, ...sides.map(({ name }, index) => h(
        `div.side.${name}`, { "aria-hidden": index > 0 ? "true" : null }, textOf(chunk[name].slice(start, end))))));
}

function textOf(lines) {
    return h("pre", {}, lines.map((line) => line.split("\t").map(visible).join("\t")).join("\n"));
}
