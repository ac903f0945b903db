/** The differences of texts, line by line. */

/** The most differing lines of two texts. Texts with more differences are compared at their ends only. */
const MOST = 1000;

/**
 * Compares two edits of a text with their base.
 *
 * @param {string[]} base the lines
 * @param {(line: string) => string} keyOf lines with equal keys are equal
 * @returns {{kind: "same"|"theirs"|"ours"|"both"|"clash", base: string[], theirs: string[], ours: string[]}[]} parts in
 *     order. `same`: no side has changed the lines; `theirs`, `ours`: one side has; `both`: both have, alike; `clash`:
 *     both have, in different ways
 */
export function threeWay(base, theirs, ours, keyOf = (line) => line) {
    const keys = [base, theirs, ours].map((lines) => lines.map(keyOf));
    const left = pairs(keys[0], keys[1]);
    const right = pairs(keys[0], keys[2]);
    const chunks = [];
    let [b, t, o] = [0, 0, 0];
    const isKept = (line) => left.has(line) && right.has(line);
    while (b < base.length || t < theirs.length || o < ours.length) {
        let next = b;
        while (next < base.length && left.get(next) === t + next - b && right.get(next) === o + next - b) next += 1;
        let [nextT, nextO] = [t + next - b, o + next - b];
        if (next === b) {
            while (next < base.length && !isKept(next)) next += 1;
            [nextT, nextO] = next < base.length ? [left.get(next), right.get(next)] : [theirs.length, ours.length];
        }
        const part = { base: base.slice(b, next), theirs: theirs.slice(t, nextT), ours: ours.slice(o, nextO) };
        for (const chunk of split(part)) add(chunks, { kind: kindOf(chunk, keyOf), ...chunk });
        [b, t, o] = [next, nextT, nextO];
    }
    return chunks;
}

/** Returns the line end of texts: CRLF if all of their lines end with it, else LF. */
export function lineEndOf(texts) {
    const ends = texts.flatMap((text) => text.match(/\r?\n/g) ?? []);
    return ends.length > 0 && ends.every((end) => end === "\r\n") ? "\r\n" : "\n";
}

/** Returns the text that both edits make together. Where they clash, the text has the lines of `ours`. */
export function mergedLines(chunks) {
    return chunks.flatMap(({ kind, theirs, ours }) => kind === "theirs" ? theirs : ours);
}

/** Splits lines that were replaced one by one, so that edits of neighbouring lines are no clash. */
function split({ base, theirs, ours }) {
    const { length } = base;
    if (length < 2 || theirs.length !== length || ours.length !== length) return [{ base, theirs, ours }];
    return base.map((line, index) => ({ base: [line], theirs: [theirs[index]], ours: [ours[index]] }));
}

function kindOf({ base, theirs, ours }, keyOf) {
    const isEqual = (one, other) => one.length === other.length
        && one.every((line, index) => keyOf(line) === keyOf(other[index]));
    if (isEqual(base, theirs)) return isEqual(base, ours) ? "same" : "ours";
    if (isEqual(base, ours)) return "theirs";
    return isEqual(theirs, ours) ? "both" : "clash";
}

/** Appends a chunk, or lengthens the last one of the same kind. */
function add(chunks, chunk) {
    const last = chunks.at(-1);
    if (last?.kind !== chunk.kind) {
        chunks.push(chunk);
        return;
    }
    for (const side of ["base", "theirs", "ours"]) last[side] = last[side].concat(chunk[side]);
}

/** Returns the lines of `a` that stay in `b`, each with its number in `b`. */
function pairs(a, b) {
    const found = new Map();
    let start = 0;
    while (start < a.length && start < b.length && a[start] === b[start]) {
        found.set(start, start);
        start += 1;
    }
    let end = 0;
    while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) {
        end += 1;
        found.set(a.length - end, b.length - end);
    }
    const middle = shortest(a.slice(start, a.length - end), b.slice(start, b.length - end));
    for (const [x, y] of middle) found.set(start + x, start + y);
    return found;
}

/** Finds the shortest edit (Myers, "An O(ND) difference algorithm", 1986). Returns the pairs of lines that stay. */
function shortest(a, b) {
    const most = Math.min(a.length + b.length, MOST);
    // The furthest line of `a` on each diagonal, for each number of edits.
    let furthest = new Int32Array(2 * most + 3);
    const middle = most + 1;
    const steps = [];
    const isDown = (line, diagonal, edits) => diagonal === -edits
        || (diagonal !== edits && line[middle + diagonal - 1] < line[middle + diagonal + 1]);
    for (let edits = 0; edits <= most; edits += 1) {
        steps.push(furthest);
        furthest = furthest.slice();
        for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
            let x = isDown(furthest, diagonal, edits)
                ? furthest[middle + diagonal + 1] : furthest[middle + diagonal - 1] + 1;
            while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x += 1;
            furthest[middle + diagonal] = x;
            if (x >= a.length && x - diagonal >= b.length) return wayBack(a.length, b.length, steps, middle, isDown);
        }
    }
    return [];
}

function wayBack(x, y, steps, middle, isDown) {
    const kept = [];
    for (let edits = steps.length - 1; edits >= 0; edits -= 1) {
        const line = steps[edits];
        const diagonal = x - y;
        const from = isDown(line, diagonal, edits) ? diagonal + 1 : diagonal - 1;
        const start = edits === 0 ? 0 : line[middle + from];
        while (x > start && y > (edits === 0 ? 0 : start - from)) {
            x -= 1;
            y -= 1;
            kept.push([x, y]);
        }
        if (edits > 0) [x, y] = [start, start - from];
    }
    return kept;
}
