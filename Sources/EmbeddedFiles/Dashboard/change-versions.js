/** The versions of a resource that a change concerns, and their differences. */

import { bytes } from "./format.js";
import { mergedTree, parseTree, printed } from "./json-tree.js";
import { lineEndOf, mergedLines, threeWay } from "./line-diff.js";

const TITLES = {
    base: ["Base", "The version that the author saw"],
    theirs: ["Theirs", "The version of the origin"],
    ours: ["Ours", "The version that the change makes"],
};

/**
 * Compares the versions of a change.
 *
 * @returns {{
 *     sides: {name: string, title: string, about: string, absence: string|null}[], chunks: object[], isJSON: boolean,
 *     texts: object, merged: string|null}}
 *     `sides`: the versions, without `theirs` if the origin's version is no part of the change; `absence`: the reason
 *     for which a version has no text; `chunks`: as of `threeWay`; `texts`: the bodies by side, `null` without a text;
 *     `merged`: a body with both edits, in which `ours` wins a clash; `null` if there is no text to edit
 */
export function compare(change) {
    const versions = { base: change.seen, theirs: change.theirs, ours: change.ours };
    const hasTheirs = change.theirs !== null || change.state === "conflict";
    const texts = Object.fromEntries(Object.entries(versions).map(([side, version]) => [side, version?.text ?? null]));
    const trees = Object.fromEntries(Object.entries(texts).map(([side, text]) => [side, treeOf(text)]));
    const present = Object.keys(texts).filter((side) => texts[side] !== null);
    const isJSON = present.length > 0 && present.every((side) => trees[side] !== undefined);
    const lineEnd = isJSON ? "\n" : lineEndOf(present.map((side) => texts[side]));
    const linesOf = (side) => texts[side] === null || texts[side] === "" ? []
        : (isJSON ? printed(trees[side], true) : texts[side]).split(lineEnd);
    const base = linesOf("base");
    // A comma only shows that another member follows.
    const keyOf = isJSON ? (line) => line.replace(/,$/, "") : undefined;
    const chunks = threeWay(base, hasTheirs ? linesOf("theirs") : base, linesOf("ours"), keyOf);
    const sides = Object.keys(versions).filter((side) => side !== "theirs" || hasTheirs).map((name) => {
        const [title, about] = TITLES[name];
        return { name, title, about, absence: texts[name] === null ? absenceOf(name, versions[name], change) : null };
    });
    return { sides, chunks, isJSON, texts, merged: mergedOf() };

    function mergedOf() {
        if (texts.theirs === null) return texts.ours;
        if (texts.ours === null) return null;
        return isJSON ? printed(mergedTree(trees.base, trees.theirs, trees.ours)) : mergedLines(chunks).join(lineEnd);
    }
}

function treeOf(text) {
    return text === null ? undefined : parseTree(text) ?? undefined;
}

function absenceOf(side, version, { base, method, problem }) {
    // Four digits of base64 stand for three bytes.
    if (version?.data) return `${bytes(Math.floor(version.data.replace(/=+$/, "").length * 3 / 4))} that are not UTF-8`;
    if (version !== null) return "The body was too long to keep.";
    switch (side) {
    case "base": return base === "absent" ? "The resource did not exist." : "Unknown: the change replaces any version.";
    case "theirs": return problem?.kind === "deleted" ? "The resource is gone." : "Unknown.";
    default: return method === "DELETE" ? "The change deletes the resource." : "The change has no body.";
    }
}
