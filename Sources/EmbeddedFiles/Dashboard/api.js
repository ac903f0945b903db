/** Calls the API of the server that served the page. */

import { setClock } from "./clock.js";

/** A failed call: the server's problem (RFC 9457), or the lack of an answer. */
export class ApiError extends Error {
    constructor(problem) {
        super(problem.detail ?? problem.title);
        this.name = "ApiError";
        this.status = problem.status;
        this.title = problem.title;
        this.pointer = problem.pointer;
    }

    static async of(response) {
        const isProblem = response.headers.get("Content-Type")?.startsWith("application/problem+json");
        const problem = isProblem ? await response.json().catch(() => null) : null;
        const { status } = response;
        return new ApiError(problem ?? { status, title: `the server answered with status ${status}` });
    }

    static unreachable() {
        const detail = "the server does not answer; check that it runs and is reachable";
        return new ApiError({ status: 0, title: "Unreachable", detail });
    }
}

/** The calls of the API, with a token and in a namespace. */
export class Api {
    /** The token exists only in this field: not in storage, not in the address, not in the document. */
    #token = null;
    #askForToken;
    #asking = null;

    /** The namespace of all calls. `null`: the server takes the token's own namespace, else the default namespace. */
    namespace = null;

    /** @param {(why: string) => Promise<string>} askForToken not called again until the promise is settled */
    constructor(askForToken) {
        this.#askForToken = askForToken;
    }

    get hasToken() { return this.#token !== null; }

    async json(method, path, options) {
        return (await this.open(method, path, options)).json();
    }

    async text(method, path, options) {
        return (await this.open(method, path, options)).text();
    }

    /**
     * Returns the answer with its body unread. If the server wants a token, the call waits for the user's token.
     *
     * @param {string} path without a leading slash, so that the server may be served below a path of another server
     * @param {object} options `query`: pairs, from which `null` and empty values are left out; `body`: sent as JSON;
     *     `headers`; `signal`; `redirect`: as for `fetch`, but a redirect is an error by default
     * @throws {ApiError} unless the answer is a success; an `AbortError` if the signal aborts the call
     */
    async open(method, path, { query = {}, body, headers = {}, signal, redirect = "error" } = {}) {
        for (;;) {
            const token = this.#token;
            const response = await this.#send(method, path + queryText(query), { body, headers, signal, redirect });
            if (response.ok) return response;
            const error = await ApiError.of(response);
            if (error.status !== 401) throw error;
            if (token === this.#token) await this.#authorize(error, signal);
        }
    }

    async #send(method, target, { body, headers, signal, redirect }) {
        const fields = new Headers(headers);
        if (this.#token !== null) fields.set("Authorization", `Bearer ${this.#token}`);
        // The name is encoded, because the browser cannot send every invalid name. The server refuses invalid names.
        if (this.namespace !== null) fields.set("Larder-Namespace", encodeURIComponent(this.namespace));
        if (body !== undefined) fields.set("Content-Type", "application/json");
        let response;
        try {
            response = await fetch(target, {
                method, signal, headers: fields, cache: "no-store", redirect,
                body: body === undefined ? undefined : JSON.stringify(body),
            });
        } catch (error) {
            throw signal?.aborted ? error : ApiError.unreachable();
        }
        if (response.headers.has("Date")) setClock(response.headers.get("Date"));
        return response;
    }

    /** Asks the user for a token. Calls that are refused at the same time share one question. */
    async #authorize(error, signal) {
        const why = this.#token === null ? "" : error.message;
        this.#asking ??= this.#askForToken(why).then((token) => {
            this.#token = token;
            this.#asking = null;
        });
        await this.#asking;
        signal?.throwIfAborted();
    }
}

function queryText(query) {
    const pairs = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
    return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs)}`;
}
