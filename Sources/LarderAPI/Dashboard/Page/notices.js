/** Short notices in the corner of the page, which screen readers announce. */

import { fill, h } from "./dom.js";

/** In milliseconds. */
const STAY = 8000;
/** The most notices, because more would cover the page. */
const MOST = 3;

export class Notices {
    #done = h("div", { role: "status" });
    #failed = h("div", { role: "alert" });

    constructor(element) {
        fill(element, this.#failed, this.#done);
    }

    /** Disappears after some seconds. */
    done(...words) {
        const notice = this.#show(this.#done, "notice", words);
        setTimeout(() => notice.remove(), STAY);
    }

    /** Stays until the user closes it. */
    failed(what, error) {
        this.#show(this.#failed, "notice.failed", [`${what}: ${error.message}`]);
    }

    #show(region, name, words) {
        const notice = h(
            `div.${name}`, {}, h("p.foreign", {}, ...words),
            h("button.quiet.small", { type: "button", click: () => notice.remove() }, "Close"));
        region.append(notice);
        while (region.childElementCount > MOST) region.firstElementChild.remove();
        return notice;
    }
}
