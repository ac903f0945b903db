/** Indents JSON text without converting its numbers, which keep their original digits. */

/** A string, a number, a word, or a punctuation character. */
export const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[-\w.+]+|[[\]{}:,]/g;
const INDENT = "  ";
/** The deepest indentation. Without this limit, a text of many brackets would grow to many times its length. */
const DEEPEST = 40;

/**
 * @returns {{text: string, marks: {kind: "name"|"string"|"literal", start: number, end: number}[]}|null} the text, and
 *     the places of names, strings and literals in it; `null` if the source is not JSON
 */
export function indented(source) {
    try {
        JSON.parse(source);
    } catch {
        return null;
    }
    const parts = [];
    const marks = [];
    let length = 0;
    let depth = 0;
    let last = "";
    const put = (text) => {
        parts.push(text);
        length += text.length;
    };
    const breakLine = () => put(`\n${INDENT.repeat(Math.min(depth, DEEPEST))}`);
    for (const [token] of source.matchAll(TOKEN)) {
        const closes = token === "}" || token === "]";
        const isEmpty = closes && (last === "{" || last === "[");
        if (closes) depth -= 1;
        if (closes ? !isEmpty : last === "{" || last === "[" || last === ",") breakLine();
        if (token === ":") {
            const mark = marks.at(-1);
            mark.kind = "name";
            put(": ");
        } else {
            const start = length;
            put(token);
            if (token.startsWith('"')) marks.push({ kind: "string", start, end: length });
            else if (/^[-\w]/.test(token)) marks.push({ kind: "literal", start, end: length });
        }
        if (token === "{" || token === "[") depth += 1;
        last = token;
    }
    return { text: parts.join(""), marks };
}

/** Colours the marks in a text node if the browser can (CSS Custom Highlight API). Creates no elements. */
export function paint(node, marks, signal) {
    if (CSS.highlights === undefined) return;
    for (const kind of ["name", "string", "literal"]) {
        // The marks are added one by one, because there may be more of them than a call can have arguments.
        const highlight = new Highlight();
        for (const { start, end } of marks.filter((mark) => mark.kind === kind)) {
            highlight.add(new StaticRange({
                startContainer: node, startOffset: start, endContainer: node, endOffset: end,
            }));
        }
        CSS.highlights.set(`json-${kind}`, highlight);
    }
    signal.addEventListener("abort", () => CSS.highlights.clear());
}
