/** Runs tasks a few at a time, because browsers open only six connections to a server. */
export class Turns {
    #free;
    #waiting = [];

    constructor(count) {
        this.#free = count;
    }

    /** Runs a task when a place is free, unless its signal has aborted by then. The task must catch its own errors. */
    async run(task, signal) {
        if (this.#free === 0) await new Promise((resolve) => { this.#waiting.push(resolve); });
        else this.#free -= 1;
        if (!signal.aborted) await task();
        const next = this.#waiting.shift();
        if (next === undefined) this.#free += 1;
        else next();
    }
}
