import { h, say } from "./dom.js";
import { downloadForm } from "./download-form.js";
import { DownloadList } from "./download-list.js";

const SHOWN = { running: 100, ended: 20 };

export function downloadsView(context) {
    const { activity, signal } = context;
    const running = new DownloadList(context, "No downloads are running.");
    const ended = new DownloadList(context, "No download ended within the last ten minutes.");
    const heading = h("h2");
    const source = h("span.chip");

    function show() {
        const { downloads, refusal } = activity;
        const now = downloads.running;
        running.show(now.slice(0, SHOWN.running), refusal);
        ended.show(downloads.ended.slice(0, SHOWN.ended), null);
        say(source, activity.isLive ? "live" : "updated every second");
        say(heading, now.length === 0 ? "In flight" : `In flight: ${now.length}${downloads.hasMoreRunning ? " and more" : ""}`);
    }

    activity.addEventListener("downloads", show, { signal });
    show();
    const element = h(
        "div.view", {},
        h("div.view-head", {}, h("h1", { tabindex: -1 }, "Downloads")),
        h("div.columns", {},
            h("div.view", {},
                h("section.panel", {}, h("div.panel-head", {}, heading, source), running.element),
                h("section.panel", {}, h("h2", {}, "Ended"), ended.element)),
            h("section.panel", {}, h("h2", {}, "Download a URL"), downloadForm(context))));
    return { title: "Downloads", element };
}
