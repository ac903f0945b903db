/**
 * The picture of a captured page. It is fetched with the token and shown from a copy in memory, as JPEG, which cannot
 * contain a script.
 */

import { fill, h, svg } from "./dom.js";

export class Screenshot {
    #api;
    #signal;
    #address = null;
    #showing = new AbortController();

    /** @param {AbortSignal} signal frees the picture */
    constructor(api, signal) {
        this.#api = api;
        this.#signal = signal;
        this.element = h("div.screenshot.absent", {}, placeholder());
        signal.addEventListener("abort", () => this.clear());
    }

    /** Gives the element the size of a picture, or that of a placeholder, before the picture is there. */
    expect({ screenshot }) {
        this.element.classList.toggle("absent", screenshot !== true);
    }

    /**
     * Shows the picture of a capture, or the placeholder if the capture has no picture.
     *
     * @param {string|number} [capture] the number of the capture; by default the newest
     */
    async show(page, capture) {
        const { key, url, screenshot } = page;
        this.expect(page);
        this.#showing.abort();
        this.#showing = new AbortController();
        const signal = AbortSignal.any([this.#signal, this.#showing.signal]);
        if (screenshot !== true) return this.clear();
        try {
            const path = `pages/${encodeURIComponent(key)}/screenshot`;
            const response = await this.#api.open("GET", path, { query: { capture }, signal });
            const data = await response.arrayBuffer();
            signal.throwIfAborted();
            this.clear();
            this.#address = URL.createObjectURL(new Blob([data], { type: "image/jpeg" }));
            fill(this.element, h("img", {
                src: this.#address, alt: `Picture of ${url}`, error: () => this.clear(),
            }));
        } catch {
            // A capture may have no picture, or may be gone. The placeholder stays.
            if (!signal.aborted) this.clear();
        }
    }

    /** Shows the placeholder, and frees the picture. */
    clear() {
        if (this.#address !== null) URL.revokeObjectURL(this.#address);
        this.#address = null;
        fill(this.element, placeholder());
    }
}

function placeholder() {
    return svg(
        "svg", { viewBox: "0 0 24 24", "aria-hidden": "true" },
        svg("path", { d: "M4 5h16v14H4Zm0 4h16M7 7h.01M10 7h.01" }));
}
