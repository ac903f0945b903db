"""The look of the page: light and dark, on a phone, and for screen readers. The tests save pictures of all views."""

import pytest
from browser import DESKTOP, PHONE
from test_entry import png
from test_outbox import make_conflict, note, send
from test_subscriptions import articles, subscribe
from test_tokens import secured, sign_in  # noqa: F401: pytest finds the fixture by its name

VIEWS = (
    "overview", "downloads", "entries", "entry", "image", "pages", "page", "subscriptions", "subscription", "outbox",
    "change", "purge", "namespaces",
)
# The states of the tabs' width: a line of the masthead, a line of their own, and the foot of a small window.
WIDTHS = (1440, 1280, 1153, 1152, 1024, 945, 944, 800, 545, 544, 390, 320)


@pytest.fixture
def shown(server, origin):
    """A server with content for each view, and the address of each view."""
    users = '[{"id": 1, "name": "Ada", "admin": true}, {"id": 2, "name": "Grace", "admin": null}]'
    for number in range(30):
        url = origin.serve(f"/v1/users/{number}/profile?expand=true", "application/json", users)
        key = server.download(url, ttl=60 + 997 * number, tags=["users", f"page-{number % 3}"])["key"]
    image = server.download(origin.serve("/cover.png", "image/png", png(320, 200)), ttl=86400, pinned=True)["key"]
    server.download(origin.serve("/old", "text/plain", "x"), ttl=0)
    server.call("POST", "/download", {"url": origin.url("/none")})
    sources = "".join(f"<img src='{source}' alt=''>" for source in ("/cover.png", "http://127.0.0.1:1/missing.png"))
    report = origin.serve("/report", "text/html", f"<!doctype html><title>A report with pictures</title>{sources}")
    server.call("POST", "/pages", {"url": report, "tags": ["news"]}, fields={"Prefer": "wait=60"})
    page = server.call("GET", "/pages")[1]["pages"][0]["key"]
    server.call("POST", "/pages", {"url": origin.url("/none")}, fields={"Prefer": "wait=60"})
    server.call("PUT", "/namespaces/staging", {"version": "2", "diskLimit": "1GiB"})
    for path, length in (("/archive.tar", 40_000_000), ("/stream", 9_000_000)):
        origin.hold(path, length, announced=path == "/archive.tar").allow(length // 3)
        server.start(origin.url(path))
    origin.serve("/live", "text/html", "<title>Live</title><img src=/cover.png alt=''><img src=/stream alt=''>")
    server.call("POST", "/pages", {"url": origin.url("/live"), "maxSeconds": 600})
    subscribe(server, "news", {"urls": articles(origin, 4, missing=[2])}, tags=["news"])
    change = make_conflict(server, origin)
    send(server, origin.url("/notes/1"), note("Later"))
    origin.refuse("POST", "/orders", 400)
    send(server, origin.url("/orders"), "{}", method="POST", lane="orders")
    addresses = {name: f"#/{name}" for name in VIEWS} | {"purge": "#/purge?tag=users"}
    return server, addresses | {
        "entry": f"#/entry/{key}", "image": f"#/entry/{image}", "page": f"#/page/{page}",
        "subscription": "#/subscription/news", "change": f"#/change/{change}",
    }


def see_all(page, shown, size, dark):
    server, addresses = shown
    for name, address in addresses.items():
        page.open(server, address, size=size, dark=dark)
        if name == "overview":
            page.wait(lambda: page.texts(".tile .value")[3] != "–", "the counters")
            page.wait(lambda: all(path.get_attribute("d") for path in page.all(".tile:nth-child(n+4) .line")), "lines")
        if name in ("overview", "downloads"):
            page.wait(lambda: len(page.all(".download[data-state=running]")) == 2, "what is downloaded")
        if name in ("entry", "image"):
            page.find(".body-text, .body-image")
        if name == "purge":
            page.button("Count").click()
            page.find(".danger")
        if name == "namespaces":
            page.wait_for_text(".namespace", "staging")
        if name == "entries":
            page.find(".entries")
        if name == "pages":
            page.wait(lambda: len(page.all(".page-card")) == 3, "the pages")
            page.wait_for_text(".page-facts", "expires in")
        if name == "page":
            page.wait_for_text("h2", "Missing: 1")
        if name == "subscriptions":
            page.find(".subscription-card[data-state=incomplete]")
        if name == "subscription":
            page.wait_for_text("h2", "Missing: 1")
            page.find("table[aria-label=Resources]")
        if name == "outbox":
            page.find(".change-row[data-state=conflict]")
            page.find(".change-row[data-state=rejected]")
        if name == "change":
            page.find(".chunk.clash")
        yield name


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_each_view_has_no_barriers_and_fits_the_window(page, shown, size, dark):
    barriers = {}
    for name in see_all(page, shown, size, dark):
        page.picture(f"{'phone' if size == PHONE else 'desktop'}-{'dark' if dark else 'light'}-{name}")
        barriers[name] = page.barriers()
        assert page.overflow() == 0, f"{name} is wider than the window"
    assert barriers == {name: [] for name in barriers}


def lightness(page):
    """Returns the lightness of the page's background, 0 to 255."""
    colour = page.value("return getComputedStyle(document.body).backgroundColor")
    return sum(float(part) for part in colour[4:-1].split(",")) / 3


def test_the_theme_is_the_systems_until_the_user_chooses_another(page, server):
    page.open(server, dark=False)
    assert lightness(page) > 200
    page.show_as(dark=True)
    page.wait(lambda: lightness(page) < 40, "the dark page")
    theme = page.find("#theme")
    assert theme.get_attribute("aria-label").startswith("Theme: as the system setting.")
    theme.click()
    page.wait(lambda: lightness(page) > 200, "the light page")
    theme.click()
    page.show_as(dark=False)
    page.wait(lambda: lightness(page) < 40, "the dark page")
    page.driver.refresh()
    page.find("main h1")
    assert lightness(page) < 40, "the choice is kept"


def test_a_phone_has_its_tabs_within_reach(page, server):
    server.put("note", "x")
    page.open(server, "#/overview", size=PHONE)
    tabs = page.find(".tabs").rect
    assert tabs["width"] == PHONE[0] and round(tabs["y"] + tabs["height"]) == PHONE[1]
    for name in ("Downloads", "Entries", "Pages", "Subscriptions", "Outbox", "Purge", "Namespaces", "Overview"):
        link = page.link(name)
        assert link.size["height"] >= 44
        link.click()
        page.wait(lambda: page.find("h1").text == name, name)
    page.link("Entries").click()
    page.wait_for_text(".entries td.name", "note")
    assert page.find(".entries tbody tr").value_of_css_property("display") == "flex"


def test_all_tabs_fit_the_window_at_each_width(page, secured):  # noqa: F811
    # The menu is hidden unless there is a choice, or the address names a namespace.
    page.open(secured, "#/overview?namespace=default")
    sign_in(page, secured.token)
    page.find(".namespace-menu select")
    for width in WIDTHS:
        page.show_as((width, 860))
        page.wait(lambda: page.value("return innerWidth") == width, "the width")
        assert page.overflow() == 0, width
        boxes = [tab.rect for tab in page.all(".tabs a")] + [page.find("#sign-out").rect, page.find("#theme").rect]
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes), (width, boxes)
        for index, one in enumerate(boxes):
            # The marks of the current tab lie on the border of the next line.
            overlaps = [other for other in boxes[index + 1:] if all(
                one[start] + one[length] > other[start] + 2 and other[start] + other[length] > one[start] + 2
                for start, length in (("x", "width"), ("y", "height")))]
            assert overlaps == [], (width, one)
        wide = page.value("""
            const width = (element) => element.getBoundingClientRect().width;
            return [...document.querySelectorAll(".tabs span")]
                .filter((label) => width(label) > width(label.parentElement)).map((label) => label.textContent);""")
        assert wide == [], width
        page.picture(f"tabs-{width}")


def test_no_animation_runs_with_reduced_motion(page, server, origin):
    origin.hold("/stream", 1000, announced=False)
    server.start(origin.url("/stream"))
    for calm, animations in ((True, 0), (False, 1)):
        page.open(server, "#/downloads", calm=calm)
        page.find("progress:indeterminate")
        assert page.value("return document.getAnimations().length") == animations


def test_changes_without_an_action_of_the_user_are_not_read_out(page, server, origin):
    """Regions that are read out on a change contain only results of the user's actions and errors."""
    transfer = origin.hold("/archive.tar", 1_000_000)
    server.start(origin.url("/archive.tar"))
    key = server.download(origin.serve("/a", "text/plain", "x"), ttl=3600)["key"]
    watch = """
        window.readOut = [];
        new MutationObserver((changes) => {
            for (const { target } of changes) {
                const region = (target.closest ? target : target.parentElement)?.closest(
                    "[aria-live], [role=status], [role=alert], [role=log]");
                if (region !== null) readOut.push(region.outerHTML);
            }
        }).observe(document.body, {subtree: true, childList: true, characterData: true});"""
    page.open(server, "#/overview")
    page.find(".download[data-state=running]")
    page.value(watch)
    for percent in (20, 40, 60):
        transfer.allow(percent * 10_000)
        page.wait_for_text(".download-state b", f"{percent} %")
    uptime = page.find(".view-head").text
    page.wait(lambda: page.find(".view-head").text != uptime, "another look at the counters")
    page.entry(key)
    left = page.find(".countdown").text
    page.wait(lambda: page.find(".countdown").text != left, "the countdown to run")
    assert page.value("return readOut") == []
