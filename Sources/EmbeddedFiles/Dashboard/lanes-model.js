/** The listed changes of the outbox, in their lanes. */

import { isEnded, isStopped, OPEN, ENDED } from "./change-words.js";

export class LanesModel {
    /** The changes by id, in the order in which they were accepted. */
    #changes = new Map();

    get size() { return this.#changes.size; }

    /**
     * The lanes as `{name, changes, isStopped}`: first the lanes that wait for a decision, and then the others, each in
     * the order of their oldest changes.
     */
    get lanes() {
        const lanes = new Map();
        for (const change of this.#changes.values()) {
            const lane = lanes.get(change.lane) ?? { name: change.lane, changes: [], isStopped: false };
            lane.changes.push(change);
            lane.isStopped ||= isStopped(change);
            lanes.set(change.lane, lane);
        }
        const all = [...lanes.values()];
        return [...all.filter((lane) => lane.isStopped), ...all.filter((lane) => !lane.isStopped)];
    }

    /** The states that occur, each with the number of its changes, as `[state, count]`. */
    get counts() {
        const counts = new Map();
        for (const { state } of this.#changes.values()) counts.set(state, (counts.get(state) ?? 0) + 1);
        return [...OPEN, ...ENDED].filter((state) => counts.has(state)).map((state) => [state, counts.get(state)]);
    }

    /** When the oldest change that has not ended was accepted; `null` if all have ended. */
    get oldest() {
        const dates = [...this.#changes.values()].filter((change) => !isEnded(change)).map((each) => each.createdDate);
        return dates.length === 0 ? null : dates.reduce((first, date) => date < first ? date : first);
    }

    replace(changes) {
        this.#changes = new Map(changes.map((change) => [change.id, change]));
    }

    /**
     * Updates the change of an event. The event lacks members, such as the next attempt, so the list is read again.
     *
     * @param {string[]} states the listed states; a change that leaves them leaves the list
     */
    apply({ id, state, attempts, problem: kind }, states) {
        const change = this.#changes.get(id);
        if (change === undefined) return;
        if (!states.includes(state)) {
            this.#changes.delete(id);
            return;
        }
        const isSame = kind !== undefined && change.problem?.kind === kind;
        const problem = isSame ? change.problem : kind === undefined ? null : { kind, status: null };
        this.#changes.set(id, { ...change, state, attempts, problem, nextAttemptDate: null });
    }
}
