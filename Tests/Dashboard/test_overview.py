"""The overview: health, limits and live counters of the server."""

from selenium.webdriver.common.action_chains import ActionChains
from server import Server


def tile(page, label):
    """Returns the text of a tile, and the label of its chart for screen readers."""
    section = page.driver.find_element("xpath", f"//section[h2='{label}']")
    return section.text, section.find_element("css selector", "svg").get_attribute("aria-label")


def line(page, number):
    """Returns the line of a tile's chart; an empty text before the first two points."""
    return page.value("return document.querySelectorAll('.tile .line')[arguments[0]]?.getAttribute('d') ?? ''", number)


def read(server, hits, misses):
    for _ in range(hits):
        assert server.call("GET", "/json", query={"url": server.held})[0] == 200
    for number in range(misses):
        assert server.call("GET", f"/entries/none-{number}/content")[0] == 404


def test_the_tiles_show_the_servers_counters_and_move(page, server, origin):
    server.held = origin.serve("/users", "application/json", "[1]")
    page.open(server, "#/overview")
    page.wait(lambda: "0 B" in tile(page, "Disk")[0], "an empty disk")
    server.download(server.held, ttl=3600)
    page.wait(lambda: "KiB" in tile(page, "Disk")[0] and "of 10 GiB" in tile(page, "Disk")[0], "an entry on the disk")
    read(server, hits=9, misses=2)
    # The download and the two unknown entries were no hits.
    page.wait(lambda: "75 % since the start" in tile(page, "Hit ratio")[0], "the hits")
    page.wait(lambda: "/s now" in tile(page, "Requests")[1], "requests a second")
    page.wait(lambda: "ms now" in tile(page, "Origin time")[1], "the time of the origin")
    assert "1 done, 0 failed" in tile(page, "Downloads")[0]
    assert "1 entry" in page.find(".view-head").text
    for _ in range(4):
        read(server, hits=5, misses=1)
        points = line(page, 0).count("L")
        page.wait(lambda: line(page, 0).count("L") > points, "another point of the line")
    page.picture("overview-live")
    # The chart shows the earlier value at the pointer.
    ActionChains(page.driver).move_to_element_with_offset(page.find(".chart"), 180, 0).perform()
    reading = page.find(".chart .reading")
    assert "/s, " in reading.text
    ActionChains(page.driver).move_to_element(page.find("h1")).perform()
    assert not reading.is_displayed()


def test_the_disk_tile_shows_the_chosen_namespace(page, server):
    assert server.call("PUT", "/namespaces/staging", {"diskLimit": "1GiB"})[0] == 200
    assert server.call("PUT", "/entries/a/content", body="x" * 3_000_000, namespace="staging")[0] == 200
    server.put("b", "x" * 300_000)
    page.open(server, "#/overview?namespace=staging")
    page.wait(lambda: "2.9 MiB" in tile(page, "Disk")[0], "what the namespace takes")
    words = tile(page, "Disk")[0]
    assert "of 1 GiB in staging" in words and "3.2 MiB of 10 GiB in all" in words and "free" in words, words
    page.picture("overview-namespace")
    page.go("#/overview")
    page.wait(lambda: "of 9 GiB in default" in tile(page, "Disk")[0], "the default namespace")
    assert "297 KiB" in tile(page, "Disk")[0], tile(page, "Disk")[0]
    page.go("#/overview?namespace=none")
    page.wait(lambda: "this namespace does not exist" in tile(page, "Disk")[0], "a namespace that is not there")


def test_a_stopped_server_is_shown_as_unreachable(page, origin):
    server = Server(origin)
    page.open(server, "#/overview")
    page.wait_for_text("#health", "Ready")
    server.stop()
    page.wait_for_text("#health", "Unreachable")
    page.wait_for_text(".note.failed", "the server does not answer; check that it runs and is reachable")


def test_a_view_keeps_its_history_when_the_user_comes_back(page, server, origin):
    page.open(server, "#/overview")
    page.wait(lambda: line(page, 5).count("L") >= 2, "some points")
    page.link("Purge").click()
    page.wait(lambda: page.find("h1").text == "Purge", "another view")
    page.link("Overview").click()
    # The history belongs to the page, not to the view.
    page.find(".tiles")
    assert line(page, 5).count("L") >= 2
