/** Short notices in the corner of the page, which screen readers announce. */

import { fill, h } from "./dom.js";

/** The time for which a notice of success stays, in milliseconds. */
const STAY = 8000;
/** The most notices at a time. More would cover the page. */
const MOST = 3;

export class Notices {
    #done = h("div", { role: "status" });
    #failed = h("div", { role: "alert" });

    constructor(element) {
        fill(element, this.#failed, this.#done);
    }

    /** Shows a notice that disappears after some seconds. */
    done(...words) {
        const notice = this.#show(this.#done, "notice", words);
        setTimeout(() => notice.remove(), STAY);
    }

    /** Shows a notice that stays until the user closes it. */
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
