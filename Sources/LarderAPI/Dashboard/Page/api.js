/** Speaks to the server that the page comes from. */

import { setClock } from "./clock.js";

/** Why a call failed: what the server said (RFC 9457), or that it said nothing. */
export class ApiError extends Error {
    /** @param {{status: number, title: string, detail?: string, pointer?: string}} problem */
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
        return new ApiError(problem ?? { status: response.status, title: `the server answered ${response.status}` });
    }

    static unreachable() {
        return new ApiError({ status: 0, title: "Unreachable", detail: "the server does not answer" });
    }
}

/** The calls of the API, with the token and the namespace that they are made with. */
export class Api {
    /** Kept here and nowhere else: not in storage, not in the address, not in the document. */
    #token = null;
    #askForToken;
    #asking = null;

    /** The namespace to work in; `null` is the server's choice: the token's own, else the default one. */
    namespace = null;

    /** @param {(why: string) => Promise<string>} askForToken is asked, once at a time, when the server wants a token */
    constructor(askForToken) {
        this.#askForToken = askForToken;
    }

    get hasToken() { return this.#token !== null; }

    /** A call that answers JSON. */
    async json(method, path, options) {
        return (await this.open(method, path, options)).json();
    }

    /** A call that answers text. */
    async text(method, path, options) {
        return (await this.open(method, path, options)).text();
    }

    /**
     * A call whose answer is read by the caller. Where the server wants a token, it waits for one.
     *
     * @param {string} path without a slash in front, so that the server may be below a path of another
     * @param {object} options `query`: pairs, of which what is `null` or empty is left out; `body`: sent as JSON;
     *     `headers`; `signal`
     * @throws {ApiError} unless the answer is a success; an `AbortError` when the signal says stop
     */
    async open(method, path, { query = {}, body, headers = {}, signal } = {}) {
        for (;;) {
            const token = this.#token;
            const response = await this.#send(method, path + queryText(query), body, headers, signal);
            if (response.ok) return response;
            const error = await ApiError.of(response);
            if (error.status !== 401) throw error;
            if (token === this.#token) await this.#authorize(error, signal);
        }
    }

    async #send(method, target, body, headers, signal) {
        const fields = new Headers(headers);
        if (this.#token !== null) fields.set("Authorization", `Bearer ${this.#token}`);
        // What is no name of a namespace the server refuses, but the browser must be able to send it.
        if (this.namespace !== null) fields.set("Larder-Namespace", encodeURIComponent(this.namespace));
        if (body !== undefined) fields.set("Content-Type", "application/json");
        let response;
        try {
            response = await fetch(target, {
                method, signal, headers: fields, cache: "no-store", redirect: "error",
                body: body === undefined ? undefined : JSON.stringify(body),
            });
        } catch (error) {
            throw signal?.aborted ? error : ApiError.unreachable();
        }
        if (response.headers.has("Date")) setClock(response.headers.get("Date"));
        return response;
    }

    /** All calls that were refused wait for one answer. */
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
