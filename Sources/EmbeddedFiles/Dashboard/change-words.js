/** The states and the problems of changes in words. */

import { h } from "./dom.js";
import { visible } from "./name.js";

/** The states of changes that have not ended, in the order of their path. */
export const OPEN = ["pending", "sending", "confirmed", "uncertain", "conflict", "blocked", "rejected"];
/** The states that stop a lane until a decision or a new credential. */
export const STOPPED = ["uncertain", "conflict", "blocked", "rejected"];
export const ENDED = ["done", "cancelled", "expired"];

const STATES = {
    pending: "The change waits for its turn, or for its next attempt.",
    sending: "The request may be under way.",
    confirmed: "The origin has confirmed the effect. Another reading of the origin follows.",
    done: "A later reading has shown the effect.",
    uncertain: "The effect may have happened, and no reading of the origin can tell. If you send the change again, the "
        + "effect may happen twice.",
    conflict: "The resource has changed, or is gone, in a way that cannot be merged. Decide which version stays.",
    blocked: "The origin wants another credential. As soon as a new credential is stored, the change is sent again.",
    rejected: "The origin, or the policy of this server, refuses the request.",
    cancelled: "The change has ended without a further request.",
    expired: "The change was not sent in time.",
};

const PROBLEMS = {
    unreachable: "the origin cannot be reached",
    throttled: "the origin asks for a pause",
    unknownOutcome: "the outcome of a request is unknown",
    clash: "the origin has a newer version, and both edits clash",
    deleted: "the resource is gone",
    validatorRefused: "the origin refuses the precondition, although its version has not changed",
    stateRefused: "the origin refuses the request because of the state of the resource",
    credential: "the origin refuses the credential",
    originPolicy: "the server may not contact the origin",
    rejected: "the origin refuses the request",
    redirected: "the origin redirects the request to another place",
    unreadable: "the origin does not show its version",
    unsettled: "the resource changes so often that its version cannot be named",
    theirsTaken: "the version of the origin was taken",
    squashed: "a later change contains this change",
};

export function isStopped({ state }) {
    return STOPPED.includes(state);
}

export function isEnded({ state }) {
    return ENDED.includes(state);
}

/** Tells whether no GET shows the version of the origin, so that a decision for ours sends without a precondition. */
export function isHidden({ state, problem }) {
    return problem?.kind === "unreadable" || (state === "uncertain" && problem?.kind === "redirected");
}

/** Returns the names of the decisions that the API accepts about a change. */
export function decisionsOf({ state, method, problem, base }) {
    const edit = method === "PUT" || method === "PATCH" ? ["edit"] : [];
    switch (state) {
    case "pending": case "blocked": return ["retry", "cancel"];
    case "conflict": return ["ours", "theirs", ...edit, "retry", "cancel"];
    case "uncertain": case "rejected":
        // Without a version to compare with, the only decision beside a retry is to send without a precondition.
        return [...(isHidden({ state, problem }) ? ["ours"] : []), ...edit, "retry", "cancel"];
    case "confirmed": case "done": return method === "POST" || base === "blind" ? [] : ["revert"];
    default: return [];
    }
}

/** Returns the meaning of a state; a newer server may have further states. */
export function stateWords({ state }) {
    return Object.hasOwn(STATES, state) ? STATES[state] : "";
}

/** Returns a problem as in `the origin refuses the request (status 400)`; an empty text without a problem. */
export function problemWords({ problem }) {
    if (problem === null) return "";
    const { kind, status = null } = problem;
    const words = Object.hasOwn(PROBLEMS, kind) ? PROBLEMS[kind] : visible(kind);
    return status === null ? words : `${words} (status ${status})`;
}

export function stateChip(state) {
    return h(`span.chip.${state}`, {}, state);
}

/** Returns the chips of a change: its state, its credential, and the doubts about its requests. */
export function chipsOf(change) {
    return [
        stateChip(change.state),
        change.credential && h("span.chip.foreign", {}, `credential ${visible(change.credential)}`),
        change.mayBeApplied && !isEnded(change) && h("span.chip.uncertain", {}, "may be applied"),
        change.unguarded && h("span.chip", { title: "The last request had no precondition" }, "unguarded"),
    ];
}
