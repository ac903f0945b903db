/**
 * Runs a task now, and again `milliseconds` after the end of each run. Pauses while the page is hidden, and ends when
 * the signal aborts. Runs never overlap. The task must catch its own errors.
 */
export function every(milliseconds, task, signal) {
    let timer = null;
    let isRunning = false;
    async function run() {
        clearTimeout(timer);
        if (isRunning || signal.aborted || document.hidden) return;
        isRunning = true;
        await task();
        isRunning = false;
        timer = setTimeout(run, milliseconds);
    }
    document.addEventListener("visibilitychange", run, { signal });
    signal.addEventListener("abort", () => clearTimeout(timer));
    run();
}

/** Resolves after this time, or when the signal aborts. */
export function pause(milliseconds, signal) {
    return new Promise((resolve) => {
        const end = () => {
            clearTimeout(timer);
            signal.removeEventListener("abort", end);
            resolve();
        };
        const timer = setTimeout(end, milliseconds);
        signal.addEventListener("abort", end, { once: true });
    });
}

/** Resolves when the page is visible, or when the signal aborts. */
export async function untilVisible(signal) {
    while (document.hidden && !signal.aborted) {
        await new Promise((resolve) => {
            document.addEventListener("visibilitychange", resolve, { once: true, signal });
            signal.addEventListener("abort", resolve, { once: true });
        });
    }
}
