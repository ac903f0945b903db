/** What is being downloaded, what was, and a form for more. */

import { h, say } from "./dom.js";
import { downloadForm } from "./download-form.js";
import { DownloadList } from "./download-list.js";

/** So many that have ended are shown. */
const ENDED = 20;

export function downloadsView(context) {
    const { activity, signal } = context;
    const running = new DownloadList(context, "Nothing is being downloaded.");
    const ended = new DownloadList(context, "None has ended within the last ten minutes.");
    const number = h("span.muted.small");

    function show() {
        const { downloads, refusal } = activity;
        const now = downloads.running;
        running.show(now, refusal);
        ended.show(downloads.ended.slice(0, ENDED), null);
        say(number, now.length === 0 ? "" : `${now.length}${downloads.more ? ", and more" : ""}`);
    }

    activity.addEventListener("downloads", show, { signal });
    show();
    const element = h(
        "div.view", {},
        h("div.view-head", {}, h("h1", { tabindex: -1 }, "Downloads")),
        h("div.columns", {},
            h("div.view", {},
                h("section.panel", {}, h("div.panel-head", {}, h("h2", {}, "In flight"), number), running.element),
                h("section.panel", {}, h("h2", {}, "Ended"), ended.element)),
            h("section.panel", {}, h("h2", {}, "Get a URL"), downloadForm(context))));
    return { title: "Downloads", element };
}
