import { pause } from "./poll.js";

/** The pause after a run, in lengths of the run. A slow task takes at most a tenth of the time. */
const SHARE = 9;

/**
 * Returns a function that runs a task. A call during a run, or during the pause after a run, lets one more run follow.
 * Runs never overlap, so that no older answer comes last. The task must catch its own errors.
 *
 * @param {number} rest the shortest pause after a run in milliseconds; 0: no pause
 */
export function oneAtATime(task, signal, rest = 0) {
    let isRunning = false;
    let isDue = false;
    return async function run() {
        isDue = true;
        if (isRunning) return;
        isRunning = true;
        while (isDue && !signal.aborted) {
            isDue = false;
            const begin = performance.now();
            await task();
            if (rest > 0) await pause(Math.max(rest, SHARE * (performance.now() - begin)), signal);
        }
        isRunning = false;
    };
}
