"""Pages: the grid, the form, running captures, one page with its captures and resources, and its actions."""

import zipfile
from contextlib import contextmanager

import pytest
from browser import DESKTOP, PHONE
from server import Server
from test_entry import png
from test_hostile import NAMES, SCRIPT, assert_nothing_ran, shown
from test_keyboard import Hands
from test_tokens import secured, sign_in  # noqa: F401: pytest finds the fixture by its name

CHROMIUM = "/usr/lib/chromium/chromium"
LENGTH = 100_000


def document(title, *sources):
    """Returns a document with images."""
    images = "".join(f"<img src='{source}' alt=''>" for source in sources)
    return f"<!doctype html><title>{title}</title><h1 style='color: teal'>{title}</h1>{images}"


def serve(origin, path, title, *sources):
    """Puts a document with images at a path. Returns its URL."""
    for source in sources:
        if source.endswith(".png"):
            origin.serve(source, "image/png", png(40 + len(source), 30))
    return origin.serve(path, "text/html; charset=utf-8", document(title, *sources))


def capture(server, url, **options):
    """Captures a page, and waits for the end of the capture. Returns the page, or the problem of the capture."""
    return server.call("POST", "/pages", {"url": url, **options}, fields={"Prefer": "wait=60"})[1]


def page_of(server, key):
    """Returns a page, or `None` if the server does not have it."""
    status, page = server.call("GET", f"/pages/{key}")
    return page if status == 200 else None


def titles(page):
    return page.texts(".page-title")


def card(page, key):
    return page.find(f".page-card[data-key='{key}']")


@contextmanager
def new_tab(page):
    """Runs the statements in the tab that has opened, and then closes this tab."""
    driver = page.driver
    first = driver.current_window_handle
    page.wait(lambda: len(driver.window_handles) == 2, "a new tab")
    driver.switch_to.window(next(handle for handle in driver.window_handles if handle != first))
    try:
        yield
    finally:
        driver.close()
        driver.switch_to.window(first)


def saved(page, folder, ending):
    """Returns the file that the browser has saved, as soon as it is whole."""
    return page.wait(lambda: next((file for file in folder.iterdir() if file.name.endswith(ending)), None), ending)


def test_a_card_shows_the_facts_of_its_page(page, server, origin):
    origin.serve("/refused.png", "text/plain", "no")
    url = serve(origin, "/news", "The news", "/a.png", "http://127.0.0.1:1/refused.png")
    key = capture(server, url, ttl=86400, tags=["news"], pinned=True)["key"]
    other = capture(server, serve(origin, "/plain", "", "/a.png"), mode="static")["key"]
    page.open(server, "#/pages")
    page.wait(lambda: len(page.all(".page-card")) == 2, "the cards")
    page.wait_for_text(f".page-card[data-key='{key}'] .page-facts", "of it shared")
    words = card(page, key).text
    for word in ("The news", url, "partial", "static", "pinned", "1 missing", "expires in 23 h"):
        assert word in words, words
    mode = card(page, key).find_element("css selector", ".chip[title]")
    assert mode.get_attribute("title") == "this server has no browser, so no scripts ran"
    # A page without a title is named by its URL.
    assert card(page, other).find_element("css selector", "h2").text == origin.url("/plain")
    assert "complete" in card(page, other).text and page.all(f".page-card[data-key='{other}'] .chip[title]") == []
    assert len(page.all(".screenshot svg")) == 2, "the placeholders"
    page.picture("pages-cards")
    card(page, key).find_element("css selector", ".page-title").click()
    page.wait_for_text("h1", "The news")


def test_the_empty_list_leads_to_the_form_which_captures_a_page(page, server, origin):
    url = serve(origin, "/news", "The news", "/a.png")
    page.open(server, "#/pages")
    page.wait_for_text(".empty", "No pages are captured yet.")
    page.picture("pages-empty")
    page.button("Capture a page").click()
    page.type("URL", url)
    page.field("Mode").find_element("xpath", "option[. = 'Static']").click()
    page.wait_for_text(".hint", "Without the scripts of the page.")
    page.type("Fresh for", "2")
    page.find("form.page-form summary").click()
    page.type("Tags", "news, front page")
    page.type("Time limit in seconds", "30")
    page.picture("pages-form")
    page.button("Capture").click()
    page.wait_for_text(".note.done", "The capture has started: " + url)
    page.wait_for_text(".page-card[data-state=complete]", "The news")
    found = server.call("GET", "/pages")[1]["pages"][0]
    assert found["mode"] == "static" and found["entry"]["tags"] == ["front page", "news"]
    assert found["entry"]["expiresInSeconds"] == 7200
    page.field("Mode").find_element("xpath", "option[. = 'Rendered']").click()
    page.button("Capture").click()
    page.wait_for_text(".note.failed", "this server has no browser")


def test_a_running_capture_moves_its_bar_and_ends(page, server, origin):
    transfer = origin.hold("/slow.png", LENGTH)
    url = serve(origin, "/news", "The news", "/a.png", "/b.png")
    origin.serve("/news", "text/html", document("The news", "/a.png", "/b.png", "/slow.png"))
    page.open(server, "#/downloads")
    page.wait_for_text(".chip", "live")
    page.go("#/pages")
    page.find(".empty")
    # An event reports a page that another client captures.
    server.call("POST", "/pages", {"url": url})
    page.wait_for_text(".page-card[data-state=fetching] .capture-progress", "75 %, 3 of 4 URLs")
    assert float(page.find(".page-card progress").get_attribute("value")) == 0.75
    page.picture("pages-running")
    # The first listing is enough, because events bring the rest.
    assert requests(page, "/pages") == 1
    page.link(url).click()
    page.wait_for_text(".columns.page .capture-progress", "75 %, 3 of 4 URLs")
    transfer.finish()
    page.wait_for_text("h2", "Resources: 4")
    assert page.find("h1").text == "The news"
    assert not any(progress.is_displayed() for progress in page.all(".capture-progress"))
    page.go("#/pages")
    page.wait_for_text(".page-card[data-state=complete]", "The news")


def test_captures_that_wait_are_queued(page, server, origin):
    origin.hold("/slow.png", LENGTH)
    for number in range(9):
        server.call("POST", "/pages", {"url": origin.serve(f"/{number}", "text/html", document("", "/slow.png"))})
    page.open(server, "#/pages")
    page.wait_for_text(".page-card[data-state=queued] .capture-progress", "The capture waits for its start")
    assert len(page.all(".page-card[data-state=fetching]")) == 8


def test_a_late_answer_does_not_undo_the_end_of_a_capture(page, server, origin):
    page.open(server, "#/downloads")
    page.wait_for_text(".chip", "live")
    page.go("#/pages")
    page.find(".empty")
    # The answer to the capture reaches the page after the event of its end.
    page.value("""
        const fetched = window.fetch;
        window.fetch = async (target, options) => {
            const answer = await fetched(target, options);
            if (options.method === "POST") await new Promise((resolve) => { window.letGo = resolve; });
            return answer;
        };""")
    page.button("Capture a page").click()
    page.type("URL", serve(origin, "/news", "The news"))
    page.button("Capture").click()
    page.wait_for_text(".page-card[data-state=complete]", "The news")
    page.value("window.letGo()")
    page.wait_for_text(".note.done", "The capture has started:")
    page.wait_for_text(".page-card[data-state=complete]", "The news")


def test_without_events_running_captures_are_read_every_second(page, server, origin):
    transfer = origin.hold("/slow.png", LENGTH)
    url = origin.serve("/news", "text/html", document("The news", "/slow.png"))
    server.call("POST", "/pages", {"url": url})
    # This fetch acts like a proxy that lets no stream through.
    with page.script_before("const ask = fetch; window.fetch = (target, ...rest) => "
                            "target === 'events' ? Promise.reject(new TypeError()) : ask(target, ...rest)"):
        page.open(server, "#/pages")
        page.wait_for_text(".page-card[data-state=fetching] .capture-progress", "50 %, 1 of 2 URLs")
        transfer.finish()
        page.wait_for_text(".page-card[data-state=complete]", "The news")


def test_a_first_capture_is_cancelled(page, server, origin):
    origin.hold("/slow.png", LENGTH)
    url = origin.serve("/news", "text/html", document("The news", "/slow.png"))
    server.call("POST", "/pages", {"url": url})
    page.open(server, "#/pages")
    page.button(f"Cancel: {url}").click()
    page.wait_for_text(".page-card[data-state=cancelled]", "cancelled")
    page.find(f"button[aria-label='Capture again: {url}']")
    assert not any(button.is_displayed() for button in page.all(f"button[aria-label='Cancel: {url}']"))


def test_a_failed_capture_states_its_reason_and_is_repeated(page, server, origin):
    url = origin.url("/late")
    capture(server, url)
    page.open(server, "#/pages")
    page.wait_for_text(".page-card[data-state=failed] .page-problem", "the page could not be fetched")
    page.picture("pages-failed")
    serve(origin, "/late", "Late, but here")
    page.button(f"Capture again: {url}").click()
    page.wait_for_text(".page-card[data-state=complete]", "Late, but here")
    page.wait(lambda: not any(text for text in page.texts(".page-problem")), "no problem")
    card(page, page.find(".page-card").get_attribute("data-key")).find_element("css selector", ".page-title").click()
    page.wait_for_text("h1", "Late, but here")
    page.go("#/page/" + "0" * 32 + "-page")
    page.wait_for_text(".note", "No page has this key.")


def test_filters_list_the_pages_that_match(page, server, origin):
    for number in range(30):
        capture(server, serve(origin, f"/{number}", f"Number {number}"), tags=["odd" if number % 2 else "even"])
    capture(server, serve(origin, "/part", "Part", "http://127.0.0.1:1/none.png"))
    page.open(server, "#/pages")
    page.wait(lambda: len(titles(page)) == 24, "the first part")
    assert "24 pages in this part" in page.find(".view-head").text
    first = titles(page)
    page.link("Next").click()
    page.wait(lambda: len(titles(page)) == 7, "the second part")
    assert page.find(".place").text == "End of the list" and not set(first) & set(titles(page))
    page.link("Previous").click()
    page.wait(lambda: titles(page) == first, "the first part again")
    page.type("URL or title contains", "nUMBER 1")
    page.button("Search").click()
    page.wait(lambda: sorted(titles(page)) == sorted(f"Number {n}" for n in (1, *range(10, 20))), "the found pages")
    assert "q=nUMBER+1" in page.driver.current_url
    page.type("Tag", "odd")
    page.button("Search").click()
    page.wait(lambda: sorted(titles(page)) == sorted(f"Number {n}" for n in (1, 11, 13, 15, 17, 19)), "odd numbers")
    page.button("Clear").click()
    page.wait(lambda: len(titles(page)) == 24, "the first part again")
    page.field("State").find_element("xpath", "option[. = 'Partial']").click()
    page.wait(lambda: titles(page) == ["Part"], "the partial page")
    page.field("State").find_element("xpath", "option[. = 'Failed']").click()
    page.wait_for_text(".empty", "No pages match.")
    page.go("#/pages?state=unknown")
    page.wait_for_text(".note.failed", "The pages cannot be listed: state must be")


def test_a_page_shows_its_captures_resources_and_failures(page, server, origin):
    url = serve(origin, "/news", "Yesterday", "/a.png", "/b.png")
    capture(server, url, captures=3)
    capture(server, serve(origin, "/news", "Today", "/a.png"), captures=3)
    # The second attempt is worse, so the page keeps the complete capture.
    key = capture(server, serve(origin, "/news", "Worse", "http://127.0.0.1:1/none.png"), captures=3)["key"]
    page.open(server, f"#/page/{key}")
    page.wait_for_text("h1", "Today")
    page.wait_for_text("h2", "Resources: 2")
    assert page.find(".captures a[aria-current]").is_displayed() and len(page.all(".captures li")) == 2
    page.wait_for_text(".note.failed", "The last capture:")
    assert "Captured without a browser: this server has no browser" in " ".join(page.texts(".note"))
    facts = page.find(".facts").text
    for word in (key, "2 URLs", "static", "7 d"):
        assert word in facts, facts
    page.picture("page-captures")
    page.all(".captures a")[1].click()
    page.wait_for_text("h2", "Resources: 3")
    assert "capture=" in page.driver.current_url
    assert origin.url("/b.png") in page.texts(".resources td.name")
    page.go(f"#/page/{key}?capture=4711")
    page.wait_for_text(".note", "The page no longer has this capture.")
    small = capture(server, serve(origin, "/small", "Small", "/a.png", "/b.png"), maxResources=2)["key"]
    page.go(f"#/page/{small}")
    page.wait_for_text(".note", "A limit of the capture kept further resources out.")
    partial = serve(origin, "/part", "Part", "http://127.0.0.1:1/none.png", "/a.png")
    page.go(f"#/page/{capture(server, partial)['key']}")
    page.wait_for_text("h2", "Missing: 1")
    row = page.find("table[aria-label='Missing resources'] tbody tr")
    assert "http://127.0.0.1:1/none.png" in row.text and "the address is not allowed" in row.text
    page.picture("page-missing")


def test_an_imported_page_shows_the_numbers_of_skipped_records(page, server):
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Old</title>"
    record = (b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://old.example/\r\n"
              b"Content-Type: application/http\r\nContent-Length: %d\r\n\r\n%b\r\n\r\n" % (len(answer), answer))
    other = record.replace(b"old.example", b"old.example:0x").replace(b"http://", b"dns:")
    status, imported = server.call("POST", "/pages/import", body=record * 3 + other)
    assert status == 200, imported
    page.open(server, f"#/page/{imported['key']}")
    page.wait_for_text(".facts", "1 record with another scheme, 2 records for URLs with a response")


def test_a_long_list_of_resources_is_shown_on_request(page, server, origin):
    sources = [f"/{number}.png" for number in range(150)]
    key = capture(server, serve(origin, "/many", "Many", *sources))["key"]
    page.open(server, f"#/page/{key}")
    page.wait_for_text("h2", "Resources: 151")
    assert len(page.all(".resources tbody tr")) == 100
    page.button("Show all 151").click()
    page.wait(lambda: len(page.all(".resources tbody tr")) == 151, "all resources")


def test_a_page_is_captured_again_with_its_settings(page, server, origin):
    url = serve(origin, "/news", "Old")
    settings = {"ttl": 5000, "tags": ["news"], "updateExpiry": True, "captures": 2, "mode": "static"}
    capture(server, url, **settings, pinned=True)
    key = capture(server, url, **settings)["key"]
    serve(origin, "/news", "New")
    page.open(server, f"#/page/{key}")
    page.button("Capture again").click()
    page.wait_for_text("h1", "New")
    found = page_of(server, key)
    assert found["entry"]["tags"] == ["news"] and found["entry"]["expiresInSeconds"] == 5000
    assert found["updateExpiry"] and found["entry"]["pinned"] and len(found["captures"]) == 2
    assert found["browserProblem"] is None, "the mode is static"


def test_pin_and_remove_change_the_page(page, server, origin):
    url = serve(origin, "/news", "The news")
    key = capture(server, url)["key"]
    page.open(server, f"#/page/{key}")
    page.button("Pin").click()
    page.button("Unpin")
    assert page_of(server, key)["entry"]["pinned"] and "pinned" in page.texts(".chip")
    page.button("Unpin").click()
    page.button("Pin")
    page.button("Remove").click()
    dialog = page.find("dialog[open]")
    assert url in dialog.text and "The news" in dialog.text
    page.picture("page-remove")
    page.button("Cancel", within="//dialog").click()
    page.wait(lambda: page.all("dialog") == [], "no dialog")
    assert page_of(server, key) is not None
    page.button("Remove").click()
    page.button("Remove", within="//dialog").click()
    page.wait_for_text(".note", "The page is no longer in the cache.")
    assert page_of(server, key) is None
    capture(server, url)
    page.go("#/pages")
    page.button("Remove: The news").click()
    page.button("Remove", within="//dialog").click()
    page.find(".empty")
    assert page_of(server, key) is None


def test_a_page_that_is_purged_elsewhere_leaves_the_grid(page, server, origin):
    key = capture(server, serve(origin, "/news", "The news"), tags=["t"])["key"]
    page.open(server, "#/downloads")
    page.wait_for_text(".chip", "live")
    page.go("#/pages")
    card(page, key)
    server.call("DELETE", "/entries", query={"tag": "t"})
    page.find(".empty")


def test_the_entry_of_a_page_leads_to_the_page(page, server, origin):
    server.put("note", "x")
    url = serve(origin, "/news", "The news")
    capture(server, url)
    page.open(server, "#/entries?kind=page")
    page.wait(lambda: page.texts(".entries td.name") == [url], "the entry of the page")
    page.link(url).click()
    page.link("page").click()
    page.wait_for_text("h1", "The news")


def test_a_page_opens_in_a_new_tab(page, server, origin):
    key = capture(server, serve(origin, "/news", "The news", "/a.png"))["key"]
    page.open(server, "#/pages")
    page.button("Open: The news").click()
    origin.requests.clear()
    with new_tab(page):
        page.wait(lambda: f"/pages/{key}/view/" in page.driver.current_url, "the view")
        page.find("iframe")
        assert page.value("return window.opener") is None
        page.picture("page-view")
    assert origin.requests == []
    server.call("DELETE", f"/pages/{key}")
    page.find(".empty")


def test_each_capture_is_opened_and_exported(page, server, origin, tmp_path):
    key = capture(server, serve(origin, "/news", "Old"), captures=2)["key"]
    capture(server, serve(origin, "/news", "New"), captures=2)
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    old = page_of(server, key)["captures"][1]["number"]
    page.open(server, f"#/page/{key}?capture={old}")
    page.find(".resources")
    page.button("Open").click()
    with new_tab(page):
        page.driver.switch_to.frame(page.find("iframe"))
        page.wait_for_text("h1", "Old")
    page.find(".resources")
    page.button("Export WACZ").click()
    with zipfile.ZipFile(saved(page, tmp_path, ".wacz")) as file:
        assert file.testzip() is None
        assert "Old" in file.read("pages/pages.jsonl").decode()
    page.button("Export WARC").click()
    assert saved(page, tmp_path, ".warc.gz").read_bytes()[:2] == b"\x1f\x8b"


def test_a_capture_that_is_gone_is_reported_and_its_tab_closes(page, server, origin):
    key = capture(server, serve(origin, "/news", "The news"))["key"]
    page.open(server, f"#/page/{key}")
    page.find(".resources")
    # Without events the page does not know that another client has removed it.
    page.value("window.fetch = ((ask) => (target, ...rest) => ask(String(target).replace(/view$/, 'view?capture=9'), "
               "...rest))(fetch)")
    page.button("Open").click()
    page.wait_for_text(".notice.failed", "The page was not opened:")
    page.wait(lambda: len(page.driver.window_handles) == 1, "no tab")


def test_pages_of_a_namespace_are_opened_and_captured_in_it(page, server, origin):
    server.call("PUT", "/namespaces/staging", {})
    url = serve(origin, "/news", "Staged")
    page.open(server, "#/pages?namespace=staging")
    page.button("Capture a page").click()
    page.type("URL", url)
    page.button("Capture").click()
    page.wait_for_text(".page-card[data-state=complete]", "Staged")
    assert server.call("GET", "/pages")[1]["pages"] == []
    page.button("Open: Staged").click()
    with new_tab(page):
        page.wait(lambda: "/@staging/pages/" in page.driver.current_url, "the view")
        page.find("iframe")


def test_with_a_token_pages_are_shown_opened_and_exported(page, secured, origin, tmp_path):  # noqa: F811
    key = capture(secured, serve(origin, "/news", "The news"))["key"]
    page.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    page.open(secured, "#/pages")
    sign_in(page, secured.token)
    page.button("Open: The news").click()
    with new_tab(page):
        page.wait(lambda: f"/pages/{key}/view/" in page.driver.current_url, "the view")
        page.driver.switch_to.frame(page.find("iframe"))
        page.wait_for_text("h1", "The news")
        assert secured.token not in page.driver.current_url
    page.link("The news").click()
    page.button("Export WARC").click()
    assert saved(page, tmp_path, ".warc.gz").stat().st_size > 0


def test_a_reader_sees_pages_and_the_refusal_of_changes(page, secured, origin):  # noqa: F811
    capture(secured, serve(origin, "/news", "The news"))
    page.open(secured, "#/pages")
    sign_in(page, secured.reader)
    page.button("Capture again: The news").click()
    page.wait_for_text(".notice.failed", "the token lacks the scope download; use a token that has it")
    page.link("The news").click()
    page.button("Pin").click()
    page.wait_for_text(".notice.failed", "the token lacks the scope write; use a token that has it")


def test_hostile_titles_and_urls_are_shown_as_text(page, server, origin):
    escaped = {name: name.replace("&", "&amp;").replace("<", "&lt;") for name in NAMES}
    for number, name in enumerate(NAMES):
        origin.serve(f"/{number}?q={number}", "text/html; charset=utf-8",
                     f"<!doctype html><title>{escaped[name]}</title><script>{SCRIPT}</script>"
                     f"<img src=/canary onerror='{SCRIPT}'>")
        capture(server, origin.url(f"/{number}?q={number}"), tags=[name.replace(",", "")])
    paths = [
        "/?q=<script>window.ran=1</script>", "/'onmouseover='window.ran=1'", "/?\"><img/src=x/onerror=window.ran=1>",
    ]
    for path in paths:
        capture(server, origin.url(path))
    origin.requests.clear()
    page.open(server, "#/pages")
    page.wait(lambda: len(titles(page)) == len(NAMES) + len(paths), "the cards")
    assert {shown(name) for name in NAMES} <= set(titles(page)), titles(page)
    page.picture("pages-hostile")
    assert_nothing_ran(page, origin)
    for found in server.call("GET", "/pages")[1]["pages"]:
        page.go(f"#/page/{found['key']}")
        page.find("main .note, .resources")
        assert page.find("h1").text in titles_of(found)
        assert_nothing_ran(page, origin)
    assert origin.requests == []


def test_a_card_keeps_the_focus_while_its_page_is_captured(page, server, origin):
    url = serve(origin, "/news", "The news", "/a.png")
    capture(server, url)
    capture(server, serve(origin, "/other", "Other"))
    page.open(server, "#/pages")
    page.find(".page-card")
    hands = Hands(page)
    hands.go_to("Capture again: The news")
    hands.press("\ue007")
    page.wait_for_text(".notice", "The capture has started.")
    page.wait(lambda: len(page.all(".page-card[data-state=complete]")) == 2, "the end of the capture")
    page.wait(lambda: page.find("button[aria-label='Capture again: The news']").is_displayed(), "the button again")
    hands.go_to("Open: The news")


def test_pages_are_captured_and_removed_with_keys_alone(page, server, origin):
    url = serve(origin, "/news", "The news")
    page.open(server, "#/overview")
    hands = Hands(page)
    hands.go_to("Pages")
    hands.press("\ue007")
    page.wait(lambda: hands.place.tag_name == "h1" and hands.place.text == "Pages", "the focus at the heading")
    hands.go_to("Capture a page")
    hands.press("\ue007")
    assert hands.words() == "URL", "the focus is in the form"
    hands.press(url, "\ue007")
    page.wait_for_text(".page-card[data-state=complete]", "The news")
    hands.go_to("The news")
    hands.press("\ue007")
    page.wait(lambda: hands.place.tag_name == "h1" and hands.place.text == "The news", "the page")
    hands.go_to("Remove")
    hands.press("\ue007")
    page.find("dialog[open]")
    assert hands.words() == "Cancel", "the harmless button comes first"
    hands.go_to("Remove")
    hands.press("\ue007")
    page.wait_for_text(".note", "The page is no longer in the cache.")


def titles_of(found):
    """Returns the headings that a page of the API may have."""
    return [shown(found.get("title") or found["url"])]


def requests(page, path):
    """Returns how often the page has requested a path."""
    return page.value(
        "return performance.getEntriesByType('resource').filter("
        "(entry) => new URL(entry.name).pathname === arguments[0]).length", path)


@pytest.fixture
def rendering(origin):
    """A server with tokens that captures pages with a browser."""
    server = Server(origin, tokens=True, options=["--browser", CHROMIUM])
    yield server
    server.stop()


def addresses(page):
    """Returns the `blob:` addresses of the shown pictures."""
    return [image.get_property("src") for image in page.all(".screenshot img")]


def is_readable(page, address):
    return page.driver.execute_async_script(
        "const [address, done] = arguments; const image = new Image();"
        "image.onload = () => done(true); image.onerror = () => done(false); image.src = address;", address)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_rendered_captures_show_their_pictures_which_are_freed_later(page, rendering, origin, dark):
    key = capture(rendering, serve(origin, "/news", "The news", "/a.png"), captures=2)["key"]
    capture(rendering, serve(origin, "/other", "Other", "http://127.0.0.1:1/none.png"), mode="static")
    page.open(rendering, "#/pages", dark=dark)
    sign_in(page, rendering.token)
    page.wait(lambda: len(addresses(page)) == 1, "the picture")
    [address] = addresses(page)
    assert address.startswith("blob:") and is_readable(page, address)
    assert "rendered" in card(page, key).text
    for size, name in ((DESKTOP, "desktop"), (PHONE, "phone")):
        page.show_as(size, dark)
        page.picture(f"pages-rendered-{name}-{'dark' if dark else 'light'}")
        assert page.overflow() == 0 and page.barriers() == []
    page.show_as(DESKTOP, dark)
    capture(rendering, serve(origin, "/news", "The news again"), captures=2)
    page.wait(lambda: addresses(page) not in ([], [address]), "another picture")
    assert not is_readable(page, address)
    [address] = addresses(page)
    page.go(f"#/page/{key}")
    page.wait(lambda: len(addresses(page)) == 1 and addresses(page) != [address], "the picture of the page")
    assert not is_readable(page, address)
    for size, name in ((DESKTOP, "desktop"), (PHONE, "phone")):
        page.show_as(size, dark)
        page.picture(f"page-rendered-{name}-{'dark' if dark else 'light'}")
        assert page.overflow() == 0 and page.barriers() == []
