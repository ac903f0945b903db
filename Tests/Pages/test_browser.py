"""The browser of captures has limits, reaches Larder only, and may fail."""

import os
import subprocess
import tempfile
import time
from pathlib import Path

import attack
import pytest
from network import Record
from pages import BROWSER, Pages, capture_of, page, rendering
from replay import Capture, get
from server import LARDER, Server


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
    assert time.monotonic() - start < 12
    assert "The text" in text


def test_a_page_that_loads_itself_again_and_again_ends(alone):
    start = time.monotonic()
    answer, _, origin = capture_of({"/": page("<p>The text</p><script>location.reload()</script>")}, "/", maxSeconds=6)
    assert time.monotonic() - start < 12
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
            fetch("/long", { method: "POST", body: "x".repeat(64 << 20) }).catch(() => {});
        })
        </script>"""), "/data": (200, "text/plain", "the data")}, "/", maxSeconds=40)
    assert (answer["mode"], answer["browserProblem"], "the data" in text) == ("rendered", None, True)
    assert [path for method, path in origin.requests if method != "GET"] == []


def test_a_page_that_closes_its_window_has_a_snapshot(alone):
    answer, text, _ = capture_of({"/": page("<script>window.close(); document.body.append('still here')</script>")}, "/")
    assert (answer["state"], answer["browserProblem"], "still here" in text) == ("complete", None, True)


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
        assert {owner(process) for process in processes} - {None} == {65534}
        commands = [command(process) for process in processes]
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


def owner(process):
    """Returns the id of the user of a process; `None` for a process that has ended."""
    try:
        return os.stat(f"/proc/{process}").st_uid
    except OSError:
        return None


def command(process):
    """Returns the command of a process; empty for a process that has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def wait_for_browser(server):
    """Waits until the browser of a server shows a page. Returns its processes."""
    def has_renderer():
        found.extend(processes_of_browser(server))
        return any(b"--type=renderer" in command(process) for process in found)

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
        counters = None
        key = answer[1]["key"]
        while server.call("GET", f"/pages/{key}")[1]["state"] in ("queued", "fetching"):
            # All processes of the browser share its network, and some of them end early.
            counters = next(filter(None, map(network_counters, processes)), counters)
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
