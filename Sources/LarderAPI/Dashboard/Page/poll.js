/** Waiting, and doing again. */

/**
 * Does something now, and again so many milliseconds after it was done, while the page can be seen and until the signal
 * says stop. Never twice at once.
 *
 * @param {() => (Promise<void>|void)} task catches what it throws
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

/** Ends after so many milliseconds, or when the signal says stop. */
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

/** Ends when the page can be seen, or when the signal says stop. */
export async function untilVisible(signal) {
    while (document.hidden && !signal.aborted) {
        await new Promise((resolve) => {
            document.addEventListener("visibilitychange", resolve, { once: true, signal });
            signal.addEventListener("abort", resolve, { once: true });
        });
    }
}
