"""Downloads: the form, the moving bars, cancelling, and the source of updates."""

import threading

from selenium.webdriver.common.by import By

LENGTH = 1_000_000


def shares(page):
    """Returns the share of each visible bar, or -1 for a bar without a share."""
    return [float(bar.get_attribute("value") or -1) for bar in page.all(".download progress") if bar.is_displayed()]


def wait_for_share(page, low, high):
    page.wait(lambda: any(low <= share <= high for share in shares(page)), f"a bar at {low} to {high}")


def test_a_url_is_downloaded_and_its_bar_moves(page, server, origin):
    transfer = origin.hold("/archive.tar", LENGTH)
    page.open(server, "#/downloads", calm=False)
    page.type("URL", origin.url("/archive.tar"))
    page.type("Fresh for", "2")
    page.button("Download").click()
    row = page.find(".download[data-state=running]")
    for percent in (25, 50, 75):
        transfer.allow(LENGTH * percent // 100)
        wait_for_share(page, percent / 100 - 0.02, percent / 100)
        page.wait_for_text(".download-state b", f"{percent} %")
        page.picture(f"download-{percent}")
    assert all(words in row.text for words in ("1 call waits", "732 KiB of 977 KiB", "left", "/s")), row.text
    transfer.finish()
    result = page.wait_for_text(".note.done", "Downloaded")
    assert "977 KiB, application/octet-stream, fresh until" in result.text
    page.find(".download[data-state=succeeded]")
    key = result.find_element(By.TAG_NAME, "a").get_attribute("href").rsplit("/", 1)[1]
    assert server.entry(key)["expiresInSeconds"] == 7200
    page.link("Show entry").click()
    page.wait_for_text("h1", "/archive.tar")


def get(page, url):
    """Sends the form as soon as the previous request was answered."""
    page.type("URL", url)
    button = page.button("Download")
    page.wait(lambda: button.get_attribute("aria-disabled") is None, "a form that can be sent")
    button.click()


def test_the_outcome_of_each_download_is_reported(page, server, origin):
    url = origin.serve("/users", "application/json", "[1]", ETag='"v1"')
    page.open(server, "#/downloads")
    get(page, url)
    page.wait_for_text(".note.done", "Downloaded")
    get(page, url)
    page.wait_for_text(".note.done", "Cached")
    assert origin.requests == ["/users"]
    page.find("summary").click()
    page.type("Tags", "users, admin")
    page.field("Pin the entry, so that it is never evicted").click()
    page.field("Contact the origin even if the entry is fresh").click()
    get(page, url)
    result = page.wait_for_text(".note.done", "Downloaded")
    entry = server.entry(result.find_element(By.TAG_NAME, "a").get_attribute("href").rsplit("/", 1)[1])
    assert origin.requests == ["/users", "/users"]
    assert entry["pinned"] and entry["tags"] == ["admin", "users"]
    get(page, origin.url("/none"))
    page.wait_for_text(".note.failed", "the origin answered with status 404")
    page.wait_for_text(".download", "the origin answered with status 404")
    get(page, "http://127.0.0.1:1/")
    page.wait_for_text(".note.failed", "the origin is not allowed")


def test_a_download_of_unknown_length_shows_no_share(page, server, origin):
    transfer = origin.hold("/stream", LENGTH, announced=False)
    transfer.allow(500_000)
    threading.Thread(target=server.call, args=("POST", "/download", {"url": origin.url("/stream")})).start()
    page.open(server, "#/overview")
    page.wait_for_text(".download-state", "488 KiB")
    page.find(".download progress:indeterminate")
    assert "%" not in page.find(".download-state").text and "left" not in page.find(".download-state").text
    transfer.finish()
    page.wait(lambda: page.all(".download") == [], "an empty list")


def test_waiters_are_counted_and_answered_when_their_download_is_cancelled(page, server, origin):
    origin.hold("/slow", LENGTH).allow(100_000)
    answers = []
    request = ("POST", "/download", {"url": origin.url("/slow")})
    waiters = [threading.Thread(target=lambda: answers.append(server.call(*request))) for _ in range(3)]
    for waiter in waiters:
        waiter.start()
    page.open(server, "#/downloads")
    page.wait_for_text(".download-state", "3 calls wait")
    page.button(f"Cancel {origin.url('/slow')}").click()
    page.wait_for_text(".download", "Cancelled")
    for waiter in waiters:
        waiter.join(30)
    assert [status for status, _ in answers] == [502, 502, 502]
    assert server.count() == 0


def test_updates_come_as_events(page, server, origin):
    transfer = origin.hold("/archive.tar", LENGTH)
    page.open(server, "#/downloads")
    page.wait_for_text(".chip", "live")
    threading.Thread(target=server.call, args=("POST", "/download", {"url": origin.url("/archive.tar")})).start()
    page.find(".download[data-state=running]")
    before = listings(page)
    for percent in (25, 50, 75):
        transfer.allow(LENGTH * percent // 100)
        wait_for_share(page, percent / 100 - 0.02, percent / 100)
    transfer.finish()
    page.find(".download[data-state=succeeded]")
    # The page lists the downloads when the stream begins, and then every two minutes.
    assert listings(page) <= before + 1


def test_without_events_the_downloads_are_listed_every_second(page, server, origin):
    transfer = origin.hold("/archive.tar", LENGTH)
    # This fetch acts like a proxy that lets no stream through.
    with page.script_before("const ask = fetch; window.fetch = (target, ...rest) => "
                            "target === 'events' ? Promise.reject(new TypeError()) : ask(target, ...rest)"):
        page.open(server, "#/downloads")
        page.wait_for_text(".chip", "updated every second")
        threading.Thread(target=server.call, args=("POST", "/download", {"url": origin.url("/archive.tar")})).start()
        for percent in (25, 75):
            transfer.allow(LENGTH * percent // 100)
            wait_for_share(page, percent / 100 - 0.02, percent / 100)
        transfer.finish()
        page.find(".download[data-state=succeeded]")


def test_many_ended_downloads_are_not_in_flight_and_are_listed_once(page, server, origin):
    for number in range(0, 1100, 100):
        batch = [{"url": origin.serve(f"/{number + offset}", "text/plain", "x")} for offset in range(100)]
        server.call_lines("POST", "/downloads", batch)
    transfer = origin.hold("/archive.tar", LENGTH)
    transfer.allow(1000)
    server.start(origin.url("/archive.tar"))
    page.open(server, "#/downloads")
    page.wait_for_text(".chip", "live")
    page.find(".download[data-state=running]")
    assert "In flight: 1" in page.texts("h2"), page.texts("h2")
    page.wait(lambda: len(page.all(".download[data-state=succeeded]")) == 20, "those that have ended")
    page.picture("downloads-many")
    # The page lists only as many downloads as it shows, and only once, because events bring the rest.
    assert page.value(
        "return performance.getEntriesByType('resource').filter("
        "(entry) => new URL(entry.name).pathname === '/downloads')"
        ".reduce((sum, entry) => sum + entry.decodedBodySize, 0)") < 150_000
    transfer.finish()
    page.wait(lambda: "In flight" in page.texts("h2"), "nothing in flight")


def listings(page):
    """Returns how often the page has listed the downloads."""
    return page.value(
        "return performance.getEntriesByType('resource').filter("
        "(entry) => new URL(entry.name).pathname === '/downloads').length")
