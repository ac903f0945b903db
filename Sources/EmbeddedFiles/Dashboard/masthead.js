/** The masthead of each view: the server's readiness, the menu of namespaces, the tabs. */

import { fill, h, say } from "./dom.js";
import { every } from "./poll.js";

const PROBE = 5000;
const WORDS = { ok: "Ready", draining: "Draining", lost: "Directory lost", unreachable: "Unreachable" };

/** Shows beside the name whether the server is ready, and asks every five seconds. The request needs no token. */
export function showHealth(element, signal) {
    every(PROBE, async () => {
        const state = await readiness();
        element.dataset.state = state;
        say(element, WORDS[state]);
    }, signal);
}

async function readiness() {
    try {
        const { status } = await (await fetch("readyz", { cache: "no-store", signal: AbortSignal.timeout(5000) })).json();
        return Object.hasOwn(WORDS, status) ? status : "unreachable";
    } catch {
        return "unreachable";
    }
}

/** The menu of namespaces. A user who may not list them sees only the current namespace. */
export class NamespaceMenu {
    #select;
    #names = [];

    /** @param {(name: string|null) => void} onChoice called with `null` for the server's choice */
    constructor(select, onChoice) {
        this.#select = select;
        select.addEventListener("change", () => onChoice(select.value === "" ? null : select.value));
    }

    show(names, current) {
        this.#names = names;
        this.choose(current);
    }

    choose(current) {
        const names = this.#names.includes(current ?? "default") ? this.#names : [current ?? "", ...this.#names];
        const options = names.map((name) => h("option", { value: name }, name === "" ? "token’s namespace" : name));
        fill(this.#select, ...options);
        this.#select.value = current ?? (this.#names.includes("default") ? "default" : "");
        // With only the default namespace there is no choice, so the menu is hidden.
        this.#select.parentElement.hidden = names.length < 2 && current === null;
    }
}

/** Marks the tab of the current view. Each tab leads to its view in the same namespace. */
export function markTab(tabs, view, addressOfView) {
    for (const link of tabs.querySelectorAll("a")) {
        link.href = addressOfView(link.dataset.view);
        if (link.dataset.view === view) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
    }
}
