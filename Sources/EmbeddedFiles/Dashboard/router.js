/** The view in the address: `#/entries?host=example.com`, `#/entry/2757bd47…?namespace=staging`. */

/** Parses the part of an address behind `#`. */
export function parseRoute(hash) {
    const [path, search = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
    const [view, key] = path.split("/");
    const query = Object.fromEntries(new URLSearchParams(search));
    const { namespace = null, ...rest } = query;
    return { view: view || "overview", key: key === undefined ? null : decode(key), namespace, query: rest };
}

/**
 * Returns the address of a view. `null` and empty values are left out of the query.
 *
 * @param {{view: string, key?: string|null, namespace?: string|null, query?: object}} route
 */
export function addressOf({ view, key = null, namespace = null, query = {} }) {
    const pairs = Object.entries({ namespace, ...query })
        .filter(([, value]) => value !== null && value !== undefined && value !== "");
    const path = key === null ? view : `${view}/${encodeURIComponent(key)}`;
    return pairs.length === 0 ? `#/${path}` : `#/${path}?${new URLSearchParams(pairs)}`;
}

/** Decodes a text. An undecodable text does not come from this page and is kept as it is. */
function decode(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return text;
    }
}
