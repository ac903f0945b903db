/** The view that the address names: `#/entries?host=example.com`, `#/entry/2757bd47…?namespace=staging`. */

/** What the part of an address behind `#` stands for. */
export function parseRoute(hash) {
    const [path, search = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
    const [view, key] = path.split("/");
    const query = Object.fromEntries(new URLSearchParams(search));
    const { namespace = null, ...rest } = query;
    return { view: view || "overview", key: key === undefined ? null : decode(key), namespace, query: rest };
}

/**
 * The address of a view; what is `null` or empty is left out of its query.
 *
 * @param {{view: string, key?: string|null, namespace?: string|null, query?: object}} route
 */
export function addressOf({ view, key = null, namespace = null, query = {} }) {
    const pairs = Object.entries({ namespace, ...query })
        .filter(([, value]) => value !== null && value !== undefined && value !== "");
    const path = key === null ? view : `${view}/${encodeURIComponent(key)}`;
    return pairs.length === 0 ? `#/${path}` : `#/${path}?${new URLSearchParams(pairs)}`;
}

/** What cannot be decoded was not made here; it is taken as it is. */
function decode(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return text;
    }
}
