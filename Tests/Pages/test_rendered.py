"""Captures with a browser have the results of a page's scripts, and the browser reaches Larder only."""

import os
import struct
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, urlsplit

import attack
import pytest
from network import Record
from replay import Capture, get
from sample import RESOURCES, Site
from server import LARDER, Server
from test_site import SIZES, urls

BROWSER = "/usr/lib/chromium/chromium"


def rendering(origin, *options):
    """Starts a server with a browser."""
    return Server(origin, options=["--browser", BROWSER, *options])


class Pages:
    """An origin with documents by their paths, until it is closed. `requests` has the method and path of each request,
    and `cookies` the field Cookie of each path."""

    def __init__(self, pages):
        self.pages = pages
        self.requests = []
        self.cookies = {}
        self.released = threading.Event()
        origin = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments):
                pass

            def handle_any(self):
                path = urlsplit(self.path).path
                origin.requests.append((self.command, path))
                fields = self.headers.get_all("Cookie") or [None]
                assert len(fields) == 1
                origin.cookies[path] = fields[0]
                self.rfile.read(int(self.headers["Content-Length"] or 0))
                if path == "/endless":
                    origin.released.wait(60)
                status, type, text, *fields = origin.pages.get(path, (404, "text/plain", "missing"))
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", type)
                self.send_header("Content-Length", str(len(body)))
                for name, value in fields:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = handle_any

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.authority = f"127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://{self.authority}{path}"

    def close(self):
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


def page(body):
    return 200, "text/html; charset=utf-8", f"<!doctype html><meta charset=utf-8><title>Test</title><body>{body}"


def capture_of(pages, path, **options):
    """Captures one document with a server of its own. Returns the page's answer, and the snapshot that a replay shows."""
    origin = Pages(pages)
    server = rendering(origin)
    try:
        capture = Capture(server, origin.url(path), mode="rendered", **options)
        return capture.page, get(capture.view() + capture.url)[2].decode(), origin
    finally:
        server.stop()
        origin.close()


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


def test_a_page_that_never_comes_to_rest_ends_at_its_maximum_as_partial(alone):
    start = time.monotonic()
    answer, text, _ = capture_of(
        {"/": page("<p>The text</p><script>setInterval(() => fetch('/n?' + Math.random()), 100)</script>")},
        "/", maxSeconds=6)
    assert time.monotonic() - start < 12
    assert (answer["state"], answer["mode"], answer["limited"]) == ("partial", "rendered", True)
    assert "The text" in text


def test_a_page_with_an_endless_script_ends_at_its_maximum_as_partial(alone):
    start = time.monotonic()
    answer, text, _ = capture_of({"/": page("<p>The text</p><script>onload = () => { while (true) {} }</script>")},
        "/", maxSeconds=6)
    assert time.monotonic() - start < 8
    assert "The text" in text


def test_a_page_that_loads_itself_again_and_again_ends(alone):
    start = time.monotonic()
    answer, _, origin = capture_of({"/": page("<p>The text</p><script>location.reload()</script>")}, "/", maxSeconds=6)
    assert time.monotonic() - start < 8
    assert (answer["state"], answer["limited"]) == ("partial", True)
    assert origin.requests.count(("GET", "/")) == 1


def test_a_page_that_requests_its_own_data_again_and_again_ends(alone):
    """The requests for `data:` URLs reach no origin, and keep the page's process and Larder busy."""
    answer, text, _ = capture_of({"/": page("""<p>The text</p><script>
        setInterval(() => { for (let i = 0; i < 500; i++) fetch("data:text/plain," + i).catch(() => {}) }, 50)
        </script>""")}, "/", maxSeconds=10)
    assert "The text" in text


def test_a_request_with_a_long_body_does_not_end_the_browser(alone):
    answer, text, origin = capture_of({"/": page("""<p id=p></p><script>
        fetch("/data").then(r => r.text()).then(t => {
            p.textContent = t;
            fetch("/long", { method: "POST", body: "x".repeat(150 << 20) }).catch(() => {});
        })
        </script>"""), "/data": (200, "text/plain", "the data")}, "/", maxSeconds=40)
    assert (answer["mode"], answer["browserProblem"], "the data" in text) == ("rendered", None, True)
    assert [path for method, path in origin.requests if method != "GET"] == []


def test_a_dialog_does_not_stop_a_capture(alone):
    answer, text, _ = capture_of({"/": page("<script>alert(1); document.body.append('after ' + confirm('?'))</script>")},
        "/")
    assert (answer["state"], "after false" in text) == ("complete", True)


def test_a_page_that_is_no_document_is_captured_without_the_browser(alone):
    answer, _, _ = capture_of(
        {"/": (200, "application/octet-stream", "data", ("Content-Disposition", "attachment"))}, "/")
    assert (answer["state"], answer["mode"]) == ("complete", "static")
    assert "cannot show" in answer["browserProblem"]


def test_a_server_without_a_browser_captures_statically_and_says_so(alone):
    origin = Pages({"/": page("text")})
    server = Server(origin)
    try:
        capture = Capture(server, origin.url("/"))
        assert (capture.page["mode"], capture.page["browserProblem"]) == (
            "static", "this server has no browser, so no scripts ran")
        status, answer = server.call("POST", "/pages", {"url": origin.url("/"), "mode": "rendered"})
        assert (status, "no browser" in answer["detail"]) == (501, True)
    finally:
        server.stop()
        origin.close()


@pytest.fixture
def broken(tmp_path):
    """An executable that is no browser."""
    file = tmp_path / "chromium"
    file.write_text("#!/bin/sh\necho 'this is no browser' >&2\nexit 1\n")
    file.chmod(0o755)
    tmp_path.chmod(0o755)
    return str(file)


def test_a_browser_that_does_not_start_leaves_a_static_capture_that_says_so(alone, broken):
    origin = Pages({"/": page("text")})
    server = Server(origin, options=["--browser", broken])
    try:
        capture = Capture(server, origin.url("/"))
        assert capture.page["mode"] == "static"
        assert "could not be started" in capture.page["browserProblem"]
        assert "page not rendered" in server.log()
        status, answer = server.call(
            "POST", "/pages", {"url": origin.url("/") + "?2", "mode": "rendered"}, fields={"Prefer": "wait=60"})
        assert (status, "could not be started" in answer["detail"]) == (502, True)
    finally:
        server.stop()
        origin.close()


def test_a_rendered_page_is_kept_when_the_browser_fails_and_replaced_when_the_page_has_become_a_file(alone, broken):
    pages = {"/": page("<p>The text</p>")}
    origin = Pages(pages)
    server = rendering(origin)
    try:
        first = Capture(server, origin.url("/"))
        assert first.page["mode"] == "rendered"
        server.restart(options=["--browser", broken])
        status, answer = server.call("POST", "/pages", {"url": origin.url("/")}, fields={"Prefer": "wait=60"})
        assert (status, answer["mode"], answer["lastCapture"]["state"]) == (200, "rendered", "partial"), answer
        pages["/"] = (200, "application/zip", "PK")
        server.restart(options=["--browser", BROWSER])
        assert Capture(server, origin.url("/")).page["mode"] == "static"
        # Without a browser, a static capture is the best that the server can do.
        pages["/"] = page("<p>The text</p>")
        assert Capture(server, origin.url("/")).page["mode"] == "rendered"
        server.restart(options=[])
        assert Capture(server, origin.url("/")).page["mode"] == "static"
    finally:
        server.stop()
        origin.close()


def test_a_browser_never_runs_as_root_or_without_its_sandbox(alone):
    with tempfile.TemporaryDirectory() as work:
        for user in ("root", "0", "nobody-knows-this-user"):
            result = subprocess.run(
                [LARDER, "serve", "--directory", work, "--port", "0", "--browser", BROWSER, "--browser-user", user],
                capture_output=True, text=True, timeout=60)
            assert result.returncode != 0
            assert "the name of a user other than root" in result.stderr
    origin = Pages({"/": page("<script>setInterval(() => fetch('/n?' + Math.random()), 100)</script>")})
    server = rendering(origin)
    try:
        server.call("POST", "/pages", {"url": origin.url("/"), "mode": "rendered", "maxSeconds": 20})
        processes = wait_for_browser(server)
        assert {os.stat(f"/proc/{process}").st_uid for process in processes} == {65534}
        commands = [Path(f"/proc/{process}/cmdline").read_bytes() for process in processes]
        assert [command for command in commands if b"no-sandbox" in command] == []
        renderers = [process for process, command in zip(processes, commands) if b"--type=renderer" in command]
        assert renderers
        wait_until(lambda: all(
            "Seccomp:\t2" in Path(f"/proc/{renderer}/status").read_text() for renderer in renderers), "the sandbox")
    finally:
        server.stop()
        origin.close()


def wait_until(is_true, name, seconds=30):
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, f"timed out: {name}"
        time.sleep(0.05)


def is_running(process):
    """Whether a process exists, and is more than the exit status for its parent."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def processes_of_browser(server):
    """Returns the processes of a server's browser, which are a process group."""
    found = []
    for path in Path("/proc").iterdir():
        try:
            state = (path / "stat").read_text().rpartition(")")[2].split()
            if path.name.isdigit() and int(state[1]) == server.process_id:
                leader = int(path.name)
                found += [p.name for p in Path("/proc").iterdir() if p.name.isdigit() and group(p) == leader]
        except (OSError, IndexError, ValueError):
            continue
    return found


def group(path):
    try:
        return int((path / "stat").read_text().rpartition(")")[2].split()[2])
    except (OSError, IndexError):
        return None


def wait_for_browser(server):
    """Waits until the browser of a server shows a page. Returns its processes."""
    def has_renderer():
        found.extend(processes_of_browser(server))
        return any(b"--type=renderer" in Path(f"/proc/{process}/cmdline").read_bytes() for process in found)

    found = []
    wait_until(has_renderer, "the browser")
    return sorted(set(found), key=int)


def test_a_killed_server_leaves_no_browser_and_a_whole_cache(alone):
    origin = Pages({"/": page("<script>setInterval(() => fetch('/n?' + Math.random()), 100)</script>")})
    server = rendering(origin)
    try:
        server.call("POST", "/pages", {"url": origin.url("/"), "mode": "rendered", "maxSeconds": 30})
        processes = wait_for_browser(server)
        server.kill()
        wait_until(lambda: not any(is_running(process) for process in processes), "the end of the browser", seconds=5)
        verdict = subprocess.run([LARDER, "verify", "--directory", server.directory], capture_output=True, text=True)
        assert verdict.returncode == 0, verdict.stdout + verdict.stderr
    finally:
        server.stop()
        origin.close()


def test_the_ways_out_of_a_live_page_lead_its_browser_nowhere(alone):
    """The scripts of the hostile page run. Only Larder's own requests for it leave, and no packet leaves the browser."""
    hostile = attack.Site("198.19")
    server = rendering(hostile)
    record = Record()
    try:
        hostile.api = server.url
        answer = server.call(
            "POST", "/pages", {"url": hostile.url + "live", "mode": "rendered", "maxSeconds": 20})
        assert answer[0] == 202, answer
        processes = wait_for_browser(server)
        counters = network_counters(processes[0])
        key = answer[1]["key"]
        while server.call("GET", f"/pages/{key}")[1]["state"] in ("queued", "fetching"):
            counters = network_counters(processes[0]) or counters
            time.sleep(0.1)
        page_answer = server.call("GET", f"/pages/{key}")[1]
        assert page_answer["mode"] == "rendered", page_answer
        record.fence()
        ports = {int(hostile.authority.rpartition(":")[2]), int(server.url.rpartition(":")[2])}
        # Larder looks the names of its own requests up, and its policy then refuses their addresses.
        outside = [opening for opening in record.openings if opening.port not in ports and opening.name is None]
        assert [(hostile.way(opening), opening) for opening in outside] == []
        assert counters == {"lo": 0}
        calls = [line for line in get(server.url + "/metrics")[2].decode().splitlines()
                 if line.startswith("larder_http_requests_total")]
        assert {line.split('route="')[1].split('"')[0] for line in calls if not line.endswith(" 0")} <= {
            "capturePage", "getPage", "getMetrics"}
    finally:
        record.close()
        server.stop()
        hostile.close()


def network_counters(process):
    """Returns the packets that each interface of a process's network has received or sent; `None` when it has ended."""
    try:
        lines = Path(f"/proc/{process}/net/dev").read_text().splitlines()[2:]
    except OSError:
        return None
    return {name.strip(): int(counts.split()[1]) + int(counts.split()[9]) for name, counts in
            (line.split(":") for line in lines)}
