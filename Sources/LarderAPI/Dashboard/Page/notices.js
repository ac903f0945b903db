/** Short words on what was done, in the corner of the page and read out. */

import { fill, h } from "./dom.js";

/** What went well goes away by itself. */
const STAY = 8000;
/** More would cover the page. */
const MOST = 3;

export class Notices {
    #done = h("div", { role: "status" });
    #failed = h("div", { role: "alert" });

    /** @param {Element} element where they are shown */
    constructor(element) {
        fill(element, this.#failed, this.#done);
    }

    /** Something was done; the words go after some seconds. */
    done(...words) {
        const notice = this.#show(this.#done, "notice", words);
        setTimeout(() => notice.remove(), STAY);
    }

    /** Something was not done; the words stay until they are closed. */
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
