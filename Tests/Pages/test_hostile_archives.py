"""A hostile archive is refused or imported without its bad records. It harms neither the server nor its directory."""

import hashlib
import threading

import pytest
from archives import export, import_page, records
from hostile import GOOD, HTML, IMAGE, LEFT_OUT, OTHER, PAGE, PART, REFUSED, TAKEN, Bomb, response, revisit, zip_of
from replay import get, open_view
from sample import Site
from server import Server

# The limit of a decompressed archive.
LIMIT = 8 << 30
# Responses that are no final ones (RFC 9110 §15.2).
INTERIM = ["100 Continue", "101 Switching Protocols", "103 Early Hints"]


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


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_record_is_left_out(name, server):
    page = import_good(server, GOOD + LEFT_OUT[name])
    assert shown(server, page) == {IMAGE: (200, b"image")}
    # The export shows that the page has no trace of the record.
    assert {record.url: record.body for record in records(export(server, page["key"], "warc"))} == {
        PAGE: HTML, IMAGE: b"image"}


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


def test_an_interim_response_is_left_out(server):
    page = import_good(server, GOOD + b"".join(response(OTHER, b"", status=status) for status in INTERIM))
    urls = [record["url"] for record in server.call("GET", f"/pages/{page['key']}/resources")[1]["resources"]]
    # A replay of such a record would end the server, so it is not requested here.
    assert urls == [PAGE, IMAGE]


NOT_LIMITED = pytest.mark.xfail(strict=True, reason="a decoded body beyond the limit counts as a damaged one")


@pytest.mark.parametrize("name", [
    "a body beyond the limit", pytest.param("a bomb", marks=NOT_LIMITED),
    pytest.param("a bomb in a bomb", marks=NOT_LIMITED)])
def test_a_page_without_a_long_body_is_partial(name, server):
    page = import_good(server, GOOD + LEFT_OUT[name])
    assert (page["state"], page["limited"]) == ("partial", True)


def test_a_revisit_record_may_have_brackets(server):
    page = import_good(server, GOOD + revisit(OTHER, WARC_Refers_To_Target_URI=f"<{IMAGE}>"))
    assert shown(server, page)[OTHER] == (200, b"image")


@pytest.mark.xfail(strict=True, reason="a revisit record finds only earlier records")
def test_a_revisit_record_may_precede_its_original(server):
    page = import_good(server, revisit(OTHER, WARC_Refers_To_Target_URI=IMAGE) + GOOD)
    assert shown(server, page)[OTHER] == (200, b"image")


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


@pytest.mark.xfail(strict=True, reason="each WARC file in a ZIP file has a limit of its own")
def test_all_archives_of_a_zip_file_have_one_limit(server):
    status, problem = import_page(server, Bomb((3 << 30) // PART).overlapping(3), url=PAGE)
    assert (status, problem.get("detail")) == (413, f"the archive is larger than {LIMIT} bytes")


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
