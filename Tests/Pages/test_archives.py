"""Programs of other makers read the archives of Larder, and Larder reads theirs."""

import gzip
import hashlib
import json
import zipfile
from io import BytesIO

import pytest
from archives import FORMATS, PROGRAMS, WARC_IN_WACZ, Pywb, export, import_page, records, run, warc
from replay import Capture, get, open_view
from sample import Site
from server import Server
from surt import surt
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

SECRETS = ["secret-field", "secret-authorization", "secret-cookie", "sid=1"]
FILES = {"warc": "site.warc.gz", "wacz": "site.wacz"}
# URLs with keys that are not obvious.
KEYS = [
    "http://example.com/", "http://www.example.com/page", "http://example.com/Case?Q=A",
    "https://example.com:8443/port", "http://example.com/%E6%97%A5", "http://example.com/a%20b",
    "http://b\u00fccher.example/", "http://example.com/q?a=1&b=2", "http://example.com/a|b",
    "http://example.com/index.html"]
OTHER_KEYS = [
    "http://192.0.2.1/", "http://[2001:db8::1]/", "http://www2.example.com/page", "http://www.com/",
    "http://example.com/folder/", "http://example.com/q?b=2&a=1", "http://example.com/a//b", "http://example.com/a%2Fb"]
# URLs of which Larder has another spelling.
SPELLINGS = [
    "http://example.com/%7Euser", "http://example.com/%e6%97%a5", "http://example.com/page?", "http://example.com./"]


@pytest.fixture(scope="module")
def site(alone):
    site = Site()
    yield site
    site.close()


@pytest.fixture(scope="module")
def server(site):
    server = Server(site, options=["--allow-origin", site.authorities[1]])
    yield server
    server.stop()


@pytest.fixture
def empty(site):
    """A server without entries."""
    server = Server(site)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def capture(site, server):
    return Capture(server, site.url, headers={"Secret": SECRETS[0], "Authorization": SECRETS[1]},
                   cookies=[f"name={SECRETS[2]}"])


@pytest.fixture(scope="module")
def archives(capture):
    """The bytes of the archive, by format."""
    return {format: export(capture.server, capture.key, format) for format in FORMATS}


@pytest.fixture(scope="module")
def folder(archives, tmp_path_factory):
    """A folder with the archives."""
    folder = tmp_path_factory.mktemp("archives")
    for format in FORMATS:
        (folder / FILES[format]).write_bytes(archives[format])
    return folder


@pytest.fixture(scope="module")
def pywb(folder, tmp_path_factory):
    pywb = Pywb(tmp_path_factory.mktemp("pywb"))
    for format in FORMATS:
        pywb.add(format, folder / FILES[format])
    pywb.start()
    yield pywb
    pywb.stop()


@pytest.fixture(scope="module")
def answers(capture):
    """The status and the body that the origin sends for each URL of the capture."""
    return {url: get(url)[::2] for url in [record["url"] for record in capture.resources()]}


@pytest.mark.parametrize("format", FORMATS)
def test_warcio_finds_no_fault_in_an_exported_warc_file(format, archives, tmp_path):
    (tmp_path / "data.warc.gz").write_bytes(warc(archives[format], format))
    output = run(PROGRAMS / "warcio", "check", "-v", "data.warc.gz", folder=tmp_path)
    # warcio does not check revisit records, because they have no bodies.
    assert output.count("digest pass") == output.count("> response\n") > 50


@pytest.mark.parametrize("format", FORMATS)
def test_an_exported_archive_has_every_response_as_the_origin_sent_it(format, site, capture, archives, answers):
    found = {record.url: record for record in records(warc(archives[format], format))}
    statuses = site.statuses()
    assert {url: found[url].status for url in statuses} == statuses
    assert {url: (record.status, record.body) for url, record in found.items()} == answers
    types = {record["url"]: record["contentType"] for record in capture.resources()}
    assert {url: record.type for url, record in found.items()} == types


def test_pywb_replays_an_exported_warc_file(answers, pywb):
    assert len(answers) > 50
    assert {url: pywb.get("warc", url) for url in answers} == answers


def test_pywb_replays_an_exported_wacz_file_by_its_index(answers, pywb):
    assert {url: pywb.get("wacz", url) for url in answers} == answers


def test_wacz_finds_no_fault_in_an_exported_wacz_file(folder):
    output = run(PROGRAMS / "wacz", "validate", "-f", FILES["wacz"], folder=folder)
    assert "the passed WACZ is valid" in output


def test_the_descriptions_of_a_wacz_file_have_its_digests_and_sizes(archives):
    file = zipfile.ZipFile(BytesIO(archives["wacz"]))
    assert file.testzip() is None
    package = json.loads(file.read("datapackage.json"))
    listed = {resource["path"]: (resource["hash"], resource["bytes"]) for resource in package["resources"]}
    others = ["datapackage.json", "datapackage-digest.json"]
    assert listed == {name: described(file.read(name)) for name in file.namelist() if name not in others}
    digest = json.loads(file.read("datapackage-digest.json"))
    assert digest == {"path": "datapackage.json", "hash": described(file.read("datapackage.json"))[0]}
    assert {info.compress_type for info in file.infolist()} == {zipfile.ZIP_STORED}


def described(data):
    return f"sha256:{hashlib.sha256(data).hexdigest()}", len(data)


def test_a_wacz_file_names_its_page(capture, archives):
    lines = zipfile.ZipFile(BytesIO(archives["wacz"])).read("pages/pages.jsonl").splitlines()
    head, page = map(json.loads, lines)
    assert head["format"] == "json-pages-1.0"
    date = next(record.date for record in records(warc(archives["wacz"], "wacz")) if record.url == capture.url)
    assert (page["url"], page["title"], page["ts"]) == (capture.url, "Pantry sample & co", date)


def index(data):
    """Returns the lines of the index of a WACZ file as (key, timestamp, fields)."""
    lines = zipfile.ZipFile(BytesIO(data)).read("indexes/index.cdx").decode().splitlines()
    assert lines == sorted(lines)
    return [(key, stamp, json.loads(fields)) for key, stamp, fields in (line.split(" ", 2) for line in lines)]


def test_the_index_of_a_wacz_file_has_the_place_of_every_response(archives):
    data = warc(archives["wacz"], "wacz")
    expected = {record.url: record for record in records(data)}
    lines = index(archives["wacz"])
    assert sorted(fields["url"] for _, _, fields in lines) == sorted(expected)
    for _, stamp, fields in lines:
        start, record = int(fields["offset"]), expected[fields["url"]]
        place = data[start:start + int(fields["length"])]
        # The place has one record, which can be read without the rest of the file.
        only, = ArchiveIterator(BytesIO(place))
        assert only.rec_headers["WARC-Target-URI"] == record.url
        assert (fields["filename"], fields["digest"]) == (WARC_IN_WACZ.partition("/")[2], record.digest)
        assert fields["status"] == str(record.status)
        assert stamp == "".join(character for character in record.date if character.isdigit())[:14]
        if not record.is_revisit:
            assert fields["mime"] == (record.type or "application/octet-stream").partition(";")[0]


def test_the_index_of_a_wacz_file_marks_revisit_records(archives):
    revisits = {record.url for record in records(warc(archives["wacz"], "wacz")) if record.is_revisit}
    assert len(revisits) > 1
    assert {fields["url"] for _, _, fields in index(archives["wacz"]) if fields["mime"] == "warc/revisit"} == revisits


def test_the_index_of_a_wacz_file_has_the_keys_of_other_programs(archives):
    assert {fields["url"]: key for key, _, fields in index(archives["wacz"])} == {
        fields["url"]: surt(fields["url"]) for _, _, fields in index(archives["wacz"])}


def response_archive(responses):
    """Returns a WARC file that warcio writes. `responses` has the type and the body, by URL."""
    output = BytesIO()
    writer = WARCWriter(output, gzip=True)
    for url, (type, body) in responses.items():
        head = StatusAndHeaders("200 OK", [("Content-Type", type)], protocol="HTTP/1.1")
        writer.write_record(writer.create_warc_record(url, "response", payload=BytesIO(body), http_headers=head))
    return output.getvalue()


def assert_key(server, url):
    """Imports a page with a URL, and checks the key of the URL in the index of the export."""
    status, page = import_page(server, response_archive({url: ("text/html", b"page")}))
    assert status == 200, page
    (key, _, fields), = index(export(server, page["key"], "wacz"))
    assert key == surt(fields["url"])


@pytest.mark.parametrize("url", KEYS)
def test_an_index_has_the_key_of(url, server):
    assert_key(server, url)


@pytest.mark.parametrize("url", OTHER_KEYS)
def test_an_index_has_the_usual_key_of(url, server):
    assert_key(server, url)


@pytest.mark.parametrize("url", SPELLINGS)
def test_a_page_is_found_in_spite_of_the_spelling_of(url, server):
    archive = response_archive({url: ("text/html", b"<title>Page</title>")})
    for query in ({}, {"url": url}):
        status, page = import_page(server, archive, **query)
        assert (status, page.get("title")) == (200, "Page"), page


def test_an_archive_of_wget_is_shown_without_the_origin(replay, tmp_path):
    own = Site()
    server = Server(own)
    try:
        run("wget", "--page-requisites", "--span-hosts", "--no-directories", "--tries=1", "--execute=robots=off",
            "--directory-prefix=files", "--warc-file=site", own.url, folder=tmp_path,
            # wget reports that one image of the page is missing (8), and that the name of a vocabulary is no host (4).
            allowed=(4, 8))
        own.close()
        data = (tmp_path / "site.warc.gz").read_bytes()
        images = {record.url.rpartition("/")[2] for record in records(data)
                  if record.status == 200 and record.type.startswith("image/")}
        assert len(images) > 15
        status, page = import_page(server, data)
        assert (status, page["state"], page["finalUrl"]) == (200, "complete", own.url), page
        assert page["title"] == "Pantry sample & co"
        replay.show(open_view(server, page["key"]) + own.url, (1280, 860))
        shown = {name: width > 0 for name, width in replay.images()}
        replay.picture("wget")
        assert {name for name, is_shown in shown.items() if is_shown} >= {"plain.png", "a%20b.png", "cors.png"}
        assert {name: is_shown for name, is_shown in shown.items() if name in images and not is_shown} == {}
    finally:
        server.stop()


@pytest.mark.parametrize("format", FORMATS)
def test_an_imported_archive_is_exported_again_with_the_same_responses(format, capture, archives, empty):
    status, page = import_page(empty, archives[format])
    assert (status, page["state"], page["key"]) == (200, "complete", capture.key), page
    again = export(empty, page["key"], format)
    assert records(warc(again, format)) == records(warc(archives[format], format))
    assert [(key, stamp, fields["digest"]) for key, stamp, fields in index(export(empty, page["key"], "wacz"))] == [
        (key, stamp, fields["digest"]) for key, stamp, fields in index(archives["wacz"])]


def test_an_import_keeps_earlier_captures(archives, empty):
    for count in (1, 2):
        status, page = import_page(empty, archives["warc"], captures=2)
        assert (status, len(page["captures"])) == (200, count), page


@pytest.mark.parametrize("format", FORMATS)
def test_an_exported_archive_has_neither_cookies_nor_fields_of_the_caller(format, archives):
    data = gzip.decompress(warc(archives[format], format))
    assert b"Pantry sample" in data
    for text in (archives[format], data):
        for secret in SECRETS + ["Set-Cookie", "Cookie:", "Authorization"]:
            assert secret.lower().encode() not in text.lower(), secret
