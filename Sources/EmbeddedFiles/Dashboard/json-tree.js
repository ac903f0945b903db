/**
 * JSON as a tree that keeps the spelling of its values. A node has `items`, `members` (pairs of a name with its quotes,
 * and a node), or `text`, the spelling of a string, a number or a word.
 */

import { TOKEN } from "./json-text.js";

/** The deepest nesting. A deeper text counts as text that is not JSON, because the functions below are recursive. */
const DEEPEST = 200;
const INDENT = "  ";

/** Returns the tree of a text; `null` if the text is not JSON, or is nested too deeply. */
export function parseTree(source) {
    try {
        JSON.parse(source);
    } catch {
        return null;
    }
    const top = { items: [] };
    const open = [top];
    /** The name of the next member of each open object. */
    const names = [null];
    const put = (node) => {
        const place = open.at(-1);
        if (place.items !== undefined) place.items.push(node);
        else {
            place.members.push([names.at(-1), node]);
            names[names.length - 1] = null;
        }
    };
    for (const [token] of source.matchAll(TOKEN)) {
        if (token === "{" || token === "[") {
            const node = token === "{" ? { members: [] } : { items: [] };
            put(node);
            open.push(node);
            names.push(null);
            if (open.length > DEEPEST) return null;
        } else if (token === "}" || token === "]") {
            open.pop();
            names.pop();
        } else if (token !== "," && token !== ":") {
            if (open.at(-1).members !== undefined && names.at(-1) === null) names[names.length - 1] = token;
            else put({ text: token });
        }
    }
    return top.items[0];
}

/**
 * Returns the indented text of a tree.
 *
 * @param {boolean} isComparable whether members are in the order of their names, and equal strings have equal
 *     spellings, so that documents with the same content have the same text
 */
export function printed(node, isComparable = false) {
    const lines = [];
    write(node, "", "", "", lines, isComparable);
    return lines.join("\n");
}

function write(node, indent, before, after, lines, isComparable) {
    if (node.text !== undefined) {
        lines.push(indent + before + (isComparable ? respelled(node.text) : node.text) + after);
        return;
    }
    const isObject = node.members !== undefined;
    const children = isObject ? node.members : node.items.map((item) => ["", item]);
    const [first, last] = isObject ? "{}" : "[]";
    if (children.length === 0) {
        lines.push(indent + before + first + last + after);
        return;
    }
    lines.push(indent + before + first);
    const ordered = isObject && isComparable ? sorted(children) : children;
    ordered.forEach(([name, child], index) => {
        const label = isObject ? `${isComparable ? respelled(name) : name}: ` : "";
        write(child, indent + INDENT, label, index < ordered.length - 1 ? "," : "", lines, isComparable);
    });
    lines.push(indent + last + after);
}

function sorted(members) {
    return members.map((member) => ({ name: JSON.parse(member[0]), member }))
        .sort((one, other) => one.name < other.name ? -1 : one.name > other.name ? 1 : 0)
        .map(({ member }) => member);
}

function respelled(text) {
    return text.startsWith('"') ? JSON.stringify(JSON.parse(text)) : text;
}

/**
 * Merges two edits of a document, member by member. Where both edits clash, the result has `ours`. A node that is
 * `undefined` is missing.
 */
export function mergedTree(base, theirs, ours) {
    if (isSame(ours, theirs) || isSame(base, theirs)) return ours;
    if (isSame(base, ours)) return theirs;
    if (theirs?.members === undefined || ours?.members === undefined) return ours;
    const [before, left, right] = [base, theirs, ours].map(membersByName);
    const members = [];
    for (const name of new Set([...left.keys(), ...right.keys()])) {
        const node = mergedTree(before.get(name)?.[1], left.get(name)?.[1], right.get(name)?.[1]);
        if (node !== undefined) members.push([(right.get(name) ?? left.get(name))[0], node]);
    }
    return { members };
}

function membersByName(node) {
    return new Map((node?.members ?? []).map((member) => [JSON.parse(member[0]), member]));
}

function isSame(one, other) {
    if (one === undefined || other === undefined) return one === other;
    return printed(one, true) === printed(other, true);
}
