/** The facts of a page in words. */

import { h, say } from "./dom.js";
import { bytes, count, counted, percent } from "./format.js";
import { nameOf, visible } from "./name.js";
import { isRunning } from "./pages-model.js";

/** Returns an element with the title; a page without a title has its URL. */
export function titleOf({ title, url, key }) {
    return title ? h("span.foreign", {}, visible(title)) : nameOf(url, key);
}

/** Returns the title for the label of a button. */
export function plainTitleOf({ title, url, key }) {
    return visible(title || url || key);
}

/** Returns the chips of a page: its state, the mode of its newest capture, and its pin. */
export function chipsOf({ state, mode, browserProblem, entry }) {
    return [
        h(`span.chip.${state}`, {}, state),
        mode && h("span.chip", { title: browserProblem ?? null }, mode),
        entry?.state === "stale" && h("span.chip.stale", {}, "stale"),
        entry?.pinned && h("span.chip.pinned", {}, "pinned"),
    ];
}

/** Returns the size of a page, as in `1.2 MiB, 40 KiB of it shared`; `null` if it is unknown. */
export function sizeOf({ bytes: all, sharedBytes }) {
    if (all === undefined) return null;
    return sharedBytes > 0 ? `${bytes(all)}, ${bytes(sharedBytes)} of it shared` : bytes(all);
}

/** The progress of a capture. */
export class CaptureProgress {
    #bar = h("progress.thin", { max: 1 });
    #words = h("p.small.muted");

    constructor() {
        this.element = h("div.capture-progress", {}, this.#bar, this.#words);
    }

    show(page) {
        this.element.hidden = !isRunning(page);
        if (this.element.hidden) return;
        const { found = 0, captured = 0, missing = 0, bytes: length = 0 } = page.lastCapture ?? {};
        const done = captured + missing;
        this.#bar.setAttribute("aria-label", `Progress of ${page.url}`);
        // The number of URLs is unknown until the document has arrived.
        if (done === 0 || found === 0) this.#bar.removeAttribute("value");
        else this.#bar.value = Math.min(1, done / found);
        const share = percent(Math.floor(100 * done / found) / 100);
        say(
            this.#words,
            page.state === "queued" ? "The capture waits for its start"
                : done === 0 ? "Waiting for the document"
                    : `${share}, ${count(done)} of ${counted(found, "URL")}, ${bytes(length)}`);
    }
}
