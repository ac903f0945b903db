"""A captured site is shown as it was, from the cache alone. The oracle is `site/expect.json`, and the live site."""

from urllib.parse import quote

import pytest
from network import Record
from replay import Capture, get
from sample import RESOURCES, Site
from server import Server

SIZES = {"desktop": (1280, 860), "phone": (390, 844)}
# The height of the page above its empty part.
HEIGHT = 900


@pytest.fixture(scope="module")
def site(alone):
    site = Site()
    yield site
    site.close()


@pytest.fixture(scope="module")
def capture(site):
    server = Server(site, options=["--allow-origin", site.authorities[1]])
    yield Capture(server, site.url)
    server.stop()


@pytest.fixture(scope="module")
def live(site, driver):
    """The look of the live site with scripts off, by size."""
    return {}


def urls(site, wanted):
    """Returns the URLs of the resources that a static capture must have (`True`) or must not have (`False`)."""
    return {
        site.address(resource["host"], quote(resource["path"], safe="/,") + resource.get("query", ""))
        for resource in RESOURCES if resource["static"] is wanted}


def test_a_static_capture_has_every_resource_that_the_page_names(site, capture):
    records = {resource["url"]: resource for resource in capture.resources()}
    assert urls(site, True) - records.keys() == set()
    assert urls(site, False) & records.keys() == set()
    assert {url: record for url, record in records.items() if record["status"] is None} == {}
    statuses = site.statuses()
    assert {url: records[url]["status"] for url in statuses} == statuses
    assert (capture.page["state"], capture.page["missing"]) == ("complete", 0)


def test_a_capture_requests_each_resource_once_and_no_url_without_an_effect(site, capture):
    assert [path for _, path in site.requests if "never" in path] == []
    # The one redirect to another resource of the page included, no request is made twice.
    assert sorted(site.requests) == sorted(set(site.requests))
    asked = {f"http://{host}:{site.url.rpartition(':')[2].partition('/')[0]}{path}" for host, path in site.requests}
    assert asked == {resource["url"] for resource in capture.resources()}


def test_the_text_of_a_capture_is_readable(capture):
    status, _, text = get(f"{capture.server.url}/pages/{capture.key}/text")
    assert status == 200
    assert "Pantry sample" in text.decode()


def look(replay):
    """Returns the facts about the page in the window that a reader sees."""
    replay.wait(lambda: replay.value("return document.fonts.status") == "loaded", "the fonts")
    # A document without metadata of its video is not as far as it can be.
    replay.wait(lambda: replay.value("return document.querySelector('video').readyState > 0"), "the video")
    facts = replay.value("""
        // A replay shows the poster instead of the first frame, and the two have different heights.
        document.querySelector("video").style.height = "120px";
        const style = (selector) => getComputedStyle(document.querySelector(selector));
        return {
            title: document.title,
            heading: style("h1").color,
            compressed: style(".gz").color,
            font: [...document.fonts].filter((face) => face.family === "Lab").map((face) => face.status),
            hasFont: document.fonts.check("16px Lab"),
            video: [document.querySelector("video").videoWidth, document.querySelector("video").duration],
            height: document.documentElement.scrollHeight,
            backgrounds: [".st", ".hero", ".imported"].map((name) => style(name).backgroundImage !== "none"),
        };""")
    facts["images"] = replay.images()
    for name in ("frame", "csp", "sjis"):
        facts[name] = replay.inside(f"iframe[src*='{name}.html']", lambda: (
            replay.value("return document.body.innerText"), replay.images()))
    facts["refresh"] = replay.inside(
        "iframe[src*='refresh.html']", lambda: replay.value("return document.body.innerText"))
    return facts


def live_look(replay, site, live, size):
    """Returns the look of the live page at a size. The first call at a size saves a picture."""
    if size not in live:
        disable = "Emulation.setScriptExecutionDisabled"
        replay.driver.execute_cdp_cmd(disable, {"value": True})
        try:
            replay.show(site.url, SIZES[size])
            live[size] = look(replay)
            replay.whole(f"live-{size}", SIZES[size], HEIGHT)
        finally:
            replay.driver.execute_cdp_cmd(disable, {"value": False})
    return live[size]


def assert_shown(replay, site, capture, expected, size, picture):
    """Saves a picture of the replay, and checks that it looks as expected and connects to its server only."""
    view = capture.view()
    site.requests.clear()
    record = Record()
    replay.show(view + capture.url, SIZES[size])
    facts = look(replay)
    replay.whole(picture, SIZES[size], HEIGHT)
    record.fence()
    ports = {int(view.split("/")[2].rpartition(":")[2]), *replay.own_ports()}
    assert [opening for opening in record.openings if opening.port not in ports] == []
    record.close()
    assert site.requests == []

    assert facts["heading"] == "rgb(1, 2, 3)"
    assert facts["font"] == ["loaded"] and facts["hasFont"]
    # The broken image, and the one for which the page needs a script.
    assert [name for name, width in facts["images"] if width == 0] == ["missing.png", ""]
    assert "表示" in facts["sjis"][0]
    # A replay confines each document so that it cannot refresh itself.
    assert facts.pop("refresh") == "r"
    assert facts == {name: value for name, value in expected.items() if name != "refresh"}


@pytest.mark.parametrize("size", SIZES)
def test_a_replay_looks_like_the_live_page_with_scripts_off(replay, site, capture, live, size):
    expected = live_look(replay, site, live, size)
    assert_shown(replay, site, capture, expected, size, f"replay-{size}")


def show_replay(replay, capture):
    replay.show(capture.view() + capture.url, SIZES["desktop"])
    replay.wait(lambda: replay.value("return document.querySelector('video').readyState > 2"), "the video")


def test_a_video_plays_in_a_replay(replay, capture):
    show_replay(replay, capture)
    replay.value("document.querySelector('video').play()")
    replay.wait(lambda: replay.value("return document.querySelector('video').currentTime > 0.1"), "the video to play")


def test_a_reader_can_move_within_a_video(replay, capture):
    show_replay(replay, capture)
    assert replay.value("return document.querySelector('video').seekable.end(0)") > 4


def test_a_video_has_its_subtitles(replay, capture):
    show_replay(replay, capture)
    # 2 is LOADED, and 3 is ERROR.
    assert replay.wait(lambda: replay.value("return document.querySelector('track').readyState"), "the subtitles") == 2


def test_a_symbol_of_an_external_image_is_shown(replay, capture):
    show_replay(replay, capture)
    assert replay.value("return document.querySelector('use').getBoundingClientRect().width") > 0


@pytest.mark.parametrize("size", SIZES)
def test_the_banner_shows_the_replay_in_a_frame(replay, site, capture, size):
    view = capture.view()
    replay.show_as(SIZES[size])
    replay.visit(view)
    assert replay.find("h1").text == "Pantry sample & co"
    assert replay.link("Live page").get_attribute("href") == capture.url
    replay.inside("iframe", lambda: replay.wait(
        lambda: len([width for _, width in replay.images() if width > 0]) > 10, "the images"))
    replay.picture(f"banner-{size}")
    assert replay.overflow() == 0
    assert replay.barriers() == []


def test_a_missing_resource_is_a_page_with_its_live_link(replay, capture):
    url = capture.url.replace("index.html", "linked.html")
    assert get(capture.view() + url)[0] == 404
    replay.show_as(SIZES["phone"])
    replay.visit(capture.view() + capture.url)
    replay.mark()
    replay.link("in").click()
    replay.wait(replay.has_moved, "the page of a missing resource")
    assert replay.link(url).get_attribute("href") == url
    replay.picture("missing")


@pytest.mark.parametrize("size", SIZES)
def test_a_replay_needs_neither_the_origin_nor_the_process_of_its_capture(replay, size):
    """The last test of the file: its own site ends before the replay."""
    own = Site()
    server = Server(own, options=["--allow-origin", own.authorities[1]])
    try:
        capture = Capture(server, own.url)
        expected = live_look(replay, own, {}, size)
        old = capture.view()
        own.close()
        server.restart()
        assert get(server.url + old.removeprefix(old[:old.index("/pages/")]) + capture.url)[0] == 404
        assert_shown(replay, own, capture, expected, size, f"restarted-{size}")
    finally:
        server.stop()
