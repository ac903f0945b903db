/** Server-sent events of `GET /events`, read by fetch(), because an EventSource cannot send a token. */

/** The longest silence in milliseconds. The server sends at least a comment every 15 seconds. */
const SILENCE = 40_000;
/** A limit above the length of any line that the server sends. */
const LONGEST_LINE = 4 << 20;

/** Parses a stream of server-sent events that arrives in pieces of any size. */
export class EventParser {
    #rest = "";
    #id = null;
    #event = {};

    /** The last id that arrived, with an event or alone, from which a stream resumes; `null` before the first id. */
    lastId = null;

    /** Returns the events that the next piece of text completes, as `{type, data}`. */
    push(text) {
        const lines = (this.#rest + text).split("\n");
        this.#rest = lines.pop();
        if (this.#rest.length > LONGEST_LINE) throw new Error("a line of the events is too long");
        return lines.map((line) => this.#take(line.replace(/\r$/, ""))).filter((event) => event !== null);
    }

    #take(line) {
        if (line === "") {
            const event = this.#event;
            this.#event = {};
            this.lastId = this.#id;
            return event.data === undefined ? null : { type: "message", ...event };
        }
        const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line);
        if (name === "id") this.#id = value;
        if (name === "event") this.#event.type = value;
        if (name === "data") this.#event.data = "data" in this.#event ? `${this.#event.data}\n${value}` : value;
        return null;
    }
}

/**
 * Reads events until the stream ends, breaks off, is silent for too long, or the signal aborts.
 * @param {string|null} lastId the id after which the stream resumes
 * @param {(id: string) => void} onPlace called with the id to resume from, after the events before it
 * @param {(event: {type: string, data: object}) => void} onEvent
 * @throws {ApiError} if the server refuses the stream
 */
export async function readEvents(api, { lastId, signal, onOpen, onPlace, onEvent }) {
    const reading = new AbortController();
    const either = AbortSignal.any([signal, reading.signal]);
    const headers = lastId === null ? {} : { "Last-Event-ID": lastId };
    const response = await api.open("GET", "events", { headers, signal: either });
    onOpen();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new EventParser();
    let timer;
    try {
        for (;;) {
            timer = setTimeout(() => reading.abort(), SILENCE);
            const { done, value } = await reader.read();
            clearTimeout(timer);
            if (done) return;
            for (const { type, data } of parser.push(value)) onEvent({ type, data: JSON.parse(data) });
            if (parser.lastId !== null) onPlace(parser.lastId);
        }
    } finally {
        clearTimeout(timer);
        reading.abort();
    }
}
