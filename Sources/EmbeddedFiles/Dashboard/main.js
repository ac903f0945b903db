/** Connects the parts, and shows the view that the address names. */

import { Activity } from "./activity.js";
import { Api } from "./api.js";
import { changeView } from "./change.js";
import { askForToken } from "./dialog.js";
import { downloadsView } from "./downloads.js";
import { entriesView } from "./entries.js";
import { entryView } from "./entry.js";
import { fill } from "./dom.js";
import { markTab, NamespaceMenu, showHealth } from "./masthead.js";
import { namespacesView } from "./namespaces.js";
import { Notices } from "./notices.js";
import { outboxView } from "./outbox.js";
import { overviewView } from "./overview.js";
import { pageView } from "./page.js";
import { pagesView } from "./pages.js";
import { purgeView } from "./purge.js";
import { addressOf, parseRoute } from "./router.js";
import { subscriptionView } from "./subscription.js";
import { subscriptionsView } from "./subscriptions.js";
import { themeButton } from "./theme.js";
import { Vitals } from "./vitals.js";

/**
 * Functions that create a view from a context and a route: `{title, element, update?}`. `update` takes another query
 * for the same view. A view without `update` is created anew.
 */
const VIEWS = {
    overview: overviewView,
    downloads: downloadsView,
    entries: entriesView,
    entry: entryView,
    pages: pagesView,
    page: pageView,
    subscriptions: subscriptionsView,
    subscription: subscriptionView,
    outbox: outboxView,
    change: changeView,
    purge: purgeView,
    namespaces: namespacesView,
};
/** For the view of one element: the view of the list, which has the tab. */
const LISTS = { entry: "entries", page: "pages", subscription: "subscriptions", change: "outbox" };

const main = document.getElementById("main");
const tabs = document.getElementById("tabs");
const signOut = document.getElementById("sign-out");
/** A signal that never aborts, for tasks that last as long as the page. */
const always = new AbortController().signal;

const api = new Api(async (why) => {
    const token = await askForToken(why);
    signOut.hidden = false;
    return token;
});
const activity = new Activity(api);
const vitals = new Vitals(api);
const notices = new Notices(document.getElementById("notices"));
const menu = new NamespaceMenu(document.getElementById("namespace"), (name) => {
    const view = LISTS[current.route.view] ?? current.route.view;
    location.hash = addressOf({ view, namespace: name === "default" ? null : name });
});

/** The current view, its route, and the controller that ends it. */
let current = { route: null, view: null, ending: new AbortController() };

/** Returns the route in the address; for an unknown view, the overview. */
function currentRoute() {
    const route = parseRoute(location.hash);
    if (!Object.hasOwn(VIEWS, route.view)) return { ...route, view: "overview" };
    return route.key === null ? { ...route, view: LISTS[route.view] ?? route.view } : route;
}

function showRoute() {
    const route = currentRoute();
    const isSamePlace = current.route !== null && route.namespace === current.route.namespace;
    if (!isSamePlace) enter(route.namespace);
    if (isSamePlace && route.view === current.route.view && route.key === current.route.key && current.view.update) {
        current.route = route;
        current.view.update(route.query);
        return;
    }
    current.ending.abort();
    const ending = new AbortController();
    const context = {
        api, activity, vitals, notices, signal: ending.signal,
        link: (view, query, key) => addressOf({ view, key, query, namespace: route.namespace }),
        go: (address) => { location.hash = address; },
    };
    const isFirst = current.route === null;
    const view = VIEWS[route.view](context, route);
    current = { route, view, ending };
    fill(main, view.element);
    document.title = `${view.title} – Larder`;
    markTab(tabs, LISTS[route.view] ?? route.view, (name) => context.link(name));
    document.querySelector(".brand").href = context.link("overview");
    if (!isFirst) {
        scrollTo(0, 0);
        main.querySelector("h1")?.focus();
    }
}

function enter(namespace) {
    api.namespace = namespace;
    activity.follow();
    menu.choose(namespace);
    listNamespaces();
}

async function listNamespaces() {
    try {
        const { namespaces } = await api.json("GET", "namespaces");
        menu.show(namespaces.map((each) => each.name), api.namespace);
    } catch {
        // A user who may not list the namespaces can still work in the current namespace.
    }
}

themeButton(document.getElementById("theme"));
showHealth(document.getElementById("health"), always);
// A reload drops the token, which exists only in memory.
signOut.addEventListener("click", () => location.reload());
document.getElementById("skip").addEventListener("click", (event) => {
    // The part of the address behind # names the view, so the link must not change it.
    event.preventDefault();
    main.querySelector("h1")?.focus();
});
addEventListener("hashchange", showRoute);
showRoute();
vitals.watch(always);
