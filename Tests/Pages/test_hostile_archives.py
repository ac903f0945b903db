"""A hostile archive is refused or imported without its bad records. It harms neither the server nor its directory."""

import hashlib
import threading
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from archives import export, import_page, records
from hostile import (
    GOOD, HTML, IMAGE, LACKED, LEFT_OUT, OTHER, PAGE, PART, REFUSED, TAKEN, Bomb, response, revisit, zip_of)
from replay import get, open_view
from sample import Site
from server import Server

# The limit of a decompressed archive.
LIMIT = 8 << 30
# The most archives that one namespace imports at the same time.
PLACES = 16


@pytest.fixture(scope="module")
def server(alone):
    """A server that has no origin."""
    site = Site()
    site.close()
    server = Server(site)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def files(server):
    """The files in the directory of the server before the first test."""
    return server.files()


@pytest.fixture(autouse=True)
def clean(server, files):
    """Removes the page of the test, and checks that the server still works."""
    yield
    server.call("DELETE", "/entries", query={"all": "true"})
    assert server.count() == 0
    assert get(f"{server.url}/readyz")[0] == 200


def import_good(server, data, **query):
    """Imports an archive that is not refused. Returns its page."""
    status, page = import_page(server, data, **query)
    assert status == 200, page
    return page


def shown(server, page):
    """Returns the status and the body that the replay has for each URL, without the page itself."""
    urls = [record["url"] for record in server.call("GET", f"/pages/{page['key']}/resources")[1]["resources"]]
    view = open_view(server, page["key"])
    assert HTML[:13] in get(view + PAGE)[2]
    return {url: get(view + url)[::2] for url in urls if url != PAGE}


@pytest.mark.parametrize("name", REFUSED)
def test_an_archive_is_refused_with_its_reason(name, server):
    data, reason = REFUSED[name]
    status, problem = import_page(server, data)
    assert status in (400, 413, 422), problem
    assert reason in problem["detail"]
    assert server.count() == 0


def resources(server, page):
    """Returns the resources of a page by URL."""
    listed = server.call("GET", f"/pages/{page['key']}/resources")[1]["resources"]
    return {resource["url"]: resource for resource in listed}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_record_is_left_out_and_counted(name, server):
    data, counter = LEFT_OUT[name]
    page = import_good(server, GOOD + data)
    assert shown(server, page) == {IMAGE: (200, b"image")}
    # The export shows that the page has no trace of the record.
    assert {record.url: record.body for record in records(export(server, page["key"], "warc"))} == {
        PAGE: HTML, IMAGE: b"image"}
    assert page["state"] == "complete"
    assert {name for name, count in page["skipped"].items() if count > 0} == {counter} - {None}


@pytest.mark.parametrize("name", LACKED)
def test_a_lacking_response_is_listed_with_its_reason(name, server):
    data, reason = LACKED[name]
    page = import_good(server, GOOD + data)
    assert (page["state"], page["missing"] >= 1) == ("partial", True)
    assert reason in resources(server, page)[OTHER]["reason"]
    assert OTHER in [failure["url"] for failure in page["failures"]]
    assert shown(server, page)[OTHER][0] == 404
    assert OTHER not in [record.url for record in records(export(server, page["key"], "warc"))]


@pytest.mark.parametrize("name", TAKEN)
def test_an_unusual_record_is_imported(name, server):
    data, answer = TAKEN[name]
    page = import_good(server, GOOD + data)
    answers = shown(server, page)
    assert (answers[IMAGE], answers[OTHER]) == ((200, b"image"), answer)
    # warcio reads the export without a complaint.
    assert OTHER in [record.url for record in records(export(server, page["key"], "warc"))]


def test_a_page_of_an_archive_must_have_an_allowed_url(server):
    status, problem = import_page(server, GOOD, url="file:///etc/passwd")
    assert (status, problem.get("pointer")) == (400, "/url"), problem


def test_names_in_a_zip_file_are_no_paths(server):
    names = ["../../x", "archive/../../../x.warc", "/tmp/x.warc", "archive//etc/x.warc", "archive\\..\\x.warc"]
    before = server.files()
    page = import_good(server, zip_of({name: GOOD for name in [*names, "archive/data.warc"]}))
    assert shown(server, page) == {IMAGE: (200, b"image")}
    assert not any("x.warc" in file for file in server.files() - before)


@pytest.mark.parametrize("name", ["a body beyond the limit", "a bomb", "a bomb in a bomb"])
def test_a_page_without_a_long_body_is_limited(name, server):
    page = import_good(server, GOOD + LACKED[name][0])
    assert (page["state"], page["limited"]) == ("partial", True)


def test_a_damaged_response_is_no_limit(server):
    assert not import_good(server, GOOD + LACKED["a cut body"][0])["limited"]


def test_a_revisit_record_may_have_brackets(server):
    page = import_good(server, GOOD + revisit(OTHER, WARC_Refers_To_Target_URI=f"<{IMAGE}>"))
    assert shown(server, page)[OTHER] == (200, b"image")


def test_a_revisit_record_may_precede_its_original(server):
    page = import_good(server, revisit(OTHER, WARC_Refers_To_Target_URI=IMAGE) + GOOD)
    assert shown(server, page)[OTHER] == (200, b"image")
    assert page["state"] == "complete"


def test_revisit_records_may_precede_one_another(server):
    urls = [f"{OTHER}?{number}" for number in range(9)]
    chain = b"".join(
        revisit(url, WARC_Refers_To_Target_URI=original) for url, original in zip(urls, [*urls[1:], IMAGE]))
    # The last two refer to each other.
    circle = revisit(f"{OTHER}?a", WARC_Refers_To_Target_URI=f"{OTHER}?b") + revisit(
        f"{OTHER}?b", WARC_Refers_To_Target_URI=f"{OTHER}?a")
    page = import_good(server, chain + circle + GOOD)
    answers = shown(server, page)
    assert [answers[url] for url in urls] == [(200, b"image")] * 9
    assert {url for url, resource in resources(server, page).items() if "reason" in resource} == {
        f"{OTHER}?a", f"{OTHER}?b"}


@pytest.fixture(scope="module")
def bombs(server):
    """The status and the problem of the answer for each bomb, and the most memory of the server."""
    bomb = Bomb(LIMIT // PART + 9)
    files = {"gzip": bomb.gzip(), "nested": bomb.nested()}
    assert len(files["nested"]) < 100_000
    return {name: (*import_page(server, data, url=PAGE), server.peak_memory()) for name, data in files.items()}


@pytest.mark.parametrize("name", ["gzip", "nested"])
def test_a_bomb_ends_by_the_limit(name, bombs):
    status, problem, memory = bombs[name]
    assert 400 <= status < 500
    assert f"larger than {LIMIT} bytes" in problem["detail"]
    assert memory < 256 << 20


@pytest.mark.parametrize("name", ["gzip", "nested"])
def test_a_bomb_gets_413(name, bombs):
    assert bombs[name][0] == 413


def test_all_archives_of_a_zip_file_have_one_limit(server):
    status, problem = import_page(server, Bomb((3 << 30) // PART).zip(3), url=PAGE)
    assert (status, problem.get("detail")) == (413, f"the archive is larger than {LIMIT} bytes")


def test_archives_beyond_the_places_get_503(server):
    connections = [HTTPConnection(urlsplit(server.url).netloc, timeout=60) for _ in range(PLACES)]
    for connection in connections:
        # The upload is as slow as its client, and never ends. The interim answer tells that it has its place.
        connection.putrequest("POST", "/pages/import")
        connection.putheader("Content-Length", "1000")
        connection.putheader("Expect", "100-continue")
        connection.endheaders()
        assert connection.sock.recv(1000).startswith(b"HTTP/1.1 100 ")
        connection.send(b"WARC/1.1")
    try:
        refused = HTTPConnection(urlsplit(server.url).netloc, timeout=60)
        refused.request("POST", "/pages/import", GOOD)
        answer = refused.getresponse()
        text = answer.read()
        assert (answer.status, answer.headers["Retry-After"]) == (503, "1"), text
        refused.close()
    finally:
        for connection in connections:
            connection.close()
    for _ in range(1000):
        status, page = import_page(server, GOOD)
        if status != 503:
            break
    assert status == 200, page


def test_a_bomb_does_not_delay_other_imports(server):
    ended = []
    # The bomb is below the limit, but takes seconds.
    data, url = Bomb(256).gzip(), "http://bomb.example/"
    bomb = threading.Thread(target=lambda: ended.append(import_page(server, data, url=url)))
    bomb.start()
    try:
        # The server has begun to read the bomb when it knows its page.
        key = hashlib.md5(url.encode()).hexdigest()
        while server.call("GET", f"/pages/{key}")[0] != 200:
            assert bomb.is_alive()
        import_good(server, GOOD)
        assert ended == [], "the import has waited for the end of the bomb"
    finally:
        bomb.join()


def test_the_imports_have_left_no_file_and_no_fault(server, files):
    """The last test of the file: the pages of all other tests are removed."""
    status, output = server.verify()
    assert (status, server.files() - files) == (0, set()), output
