import { fill, h, say } from "./dom.js";
import { Trouble } from "./failure.js";
import { bytes, counted, duration, percent } from "./format.js";
import { nameOf } from "./name.js";

const ENDS = { succeeded: "Done", failed: "Failed", cancelled: "Cancelled" };

/** A row keeps its element as long as its download is shown, so that a focused button stays focused. */
class Row {
    #context;
    #key;
    #bar = h("progress", { max: 1 });
    #state = h("div.download-state");
    #cancel;
    #wasRunning = null;
    #end = null;

    constructor(context, { status }) {
        this.#context = context;
        this.#key = status.key;
        this.#bar.setAttribute("aria-label", `Progress of ${status.url}`);
        this.#cancel = h(
            "button.small", { type: "button", "aria-label": `Cancel ${status.url}`, click: () => this.#stop() },
            "Cancel");
        this.element = h(
            "li.download", { "data-key": status.key },
            h("a.download-name", { href: context.link("entry", {}, status.key) }, nameOf(status.url, status.key)),
            this.#cancel, this.#bar, this.#state);
    }

    show(download) {
        const { isRunning, status } = download;
        this.element.dataset.state = status.state;
        if (this.#wasRunning !== isRunning) {
            this.#wasRunning = isRunning;
            this.#bar.hidden = !isRunning;
            this.#cancel.hidden = !isRunning;
            this.#cancel.disabled = false;
        }
        if (isRunning) this.#showProgress(download);
        else this.#showEnd(status);
    }

    #showProgress({ share, speed, secondsLeft, status: { receivedBytes, totalBytes, waiters } }) {
        if (share === null) this.#bar.removeAttribute("value");
        else this.#bar.value = share;
        const activity = receivedBytes > 0 ? "Receiving" : "Waiting";
        const size = totalBytes === null ? bytes(receivedBytes) : `${bytes(receivedBytes)} of ${bytes(totalBytes)}`;
        this.#say(
            share === null ? activity : percent(Math.floor(share * 100) / 100), size,
            speed > 0 ? `${bytes(speed)}/s` : null, secondsLeft === null ? null : `${duration(secondsLeft)} left`,
            waiters > 0 ? `${counted(waiters, "call")} ${waiters === 1 ? "waits" : "wait"}` : null);
    }

    #showEnd({ state, receivedBytes, problem }) {
        this.#end ??= { chip: h(`span.chip.${state}`, {}, ENDS[state]), words: h("span.foreign") };
        say(this.#end.words, problem?.detail ?? bytes(receivedBytes));
        if (this.#end.chip.parentNode !== this.#state) fill(this.#state, this.#end.chip, this.#end.words);
    }

    #say(first, ...others) {
        const words = others.filter((word) => word !== null);
        const spans = this.#state.children;
        if (spans.length !== words.length + 1 || spans[0].tagName !== "B") {
            fill(this.#state, h("b"), ...words.map(() => h("span")));
        }
        [first, ...words].forEach((word, index) => say(spans[index], word));
    }

    async #stop() {
        this.#cancel.disabled = true;
        try {
            await this.#context.api.json("DELETE", `downloads/${encodeURIComponent(this.#key)}`);
        } catch (error) {
            this.#cancel.disabled = false;
            // The download ended before it could be cancelled.
            if (error.status !== 409) this.#context.notices.failed("The download was not cancelled", error);
        }
    }
}

/** A list that follows the downloads. The row of a known download is kept, not created again. */
export class DownloadList {
    #context;
    #rows = new Map();
    #list = h("ul.download-list");
    #empty;
    #trouble = new Trouble("The downloads cannot be listed");

    constructor(context, empty) {
        this.#context = context;
        this.#empty = h("p.empty", {}, empty);
        this.element = h("div", {}, this.#trouble.element, this.#empty, this.#list);
    }

    show(downloads, refusal) {
        this.#trouble.show(refusal);
        this.#empty.hidden = downloads.length > 0 || refusal !== null;
        const before = this.#rows;
        this.#rows = new Map();
        for (const download of downloads) {
            const { key, startDate } = download.status;
            const id = `${key} ${startDate}`;
            const row = before.get(id) ?? new Row(this.#context, download);
            row.show(download);
            this.#rows.set(id, row);
        }
        for (const [id, row] of before) if (!this.#rows.has(id)) row.element.remove();
        [...this.#rows.values()].forEach(({ element }, index) => {
            // Only rows in the wrong place move, because a moved element loses the focus.
            const there = this.#list.children[index] ?? null;
            if (there !== element) this.#list.insertBefore(element, there);
        });
    }
}
