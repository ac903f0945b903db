"""WARC and WACZ files: export and import through the API, and programs of other makers that read and write them."""

import subprocess
import sys
import zipfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from replay import get
from warcio.archiveiterator import ArchiveIterator

FORMATS = ["warc", "wacz"]
# The programs of the environment in which the tests run.
PROGRAMS = Path(sys.executable).parent
WARC_IN_WACZ = "archive/data.warc.gz"


def export(server, key, format):
    """Returns the bytes of a page's archive."""
    status, _, data = get(f"{server.url}/pages/{key}/export?format={format}")
    assert status == 200, data
    return data


def import_page(server, data, **query):
    """Imports an archive. Returns the status and the JSON of the answer."""
    return server.call("POST", "/pages/import", body=data, query=query)


def warc(data, format):
    """Returns the WARC file of an archive."""
    return data if format == "warc" else zipfile.ZipFile(BytesIO(data)).read(WARC_IN_WACZ)


@dataclass(frozen=True)
class Record:
    """A response in a WARC file. `body` is that of the earlier record to which a revisit record refers."""

    url: str
    date: str
    status: int
    type: str
    body: bytes
    digest: str
    is_revisit: bool


def records(data):
    """Reads the responses of a WARC file with warcio, in their order. Fails for a wrong digest."""
    found, bodies = [], {}
    for record in ArchiveIterator(BytesIO(data), check_digests="raise"):
        if record.rec_type not in ("response", "revisit"):
            continue
        head = record.rec_headers
        url, date = head["WARC-Target-URI"], head["WARC-Date"]
        body = record.content_stream().read()
        if record.rec_type == "revisit":
            body = bodies[head["WARC-Refers-To-Target-URI"], head["WARC-Refers-To-Date"]]
        bodies[url, date] = body
        found.append(Record(
            url, date, int(record.http_headers.get_statuscode()), record.http_headers.get_header("Content-Type"), body,
            head["WARC-Payload-Digest"], record.rec_type == "revisit"))
    return found


def run(*command, folder, allowed=(0,)):
    """Runs a program in a folder, which has all files that it writes. Returns its output."""
    result = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    assert result.returncode in allowed, result.stdout
    return result.stdout


class Pywb:
    """A server of pywb, with a collection for each archive, from `start` to `stop`."""

    # The command of pywb does not say when it listens, and takes no free port.
    PROGRAM = """
from pywb.apps.frontendapp import FrontEndApp
from pywb.utils.geventserver import RequestURIWSGIHandler
from gevent.pywsgi import WSGIServer
server = WSGIServer(("127.0.0.1", 0), FrontEndApp(), handler_class=RequestURIWSGIHandler)
server.start()
print("port", server.server_port, flush=True)
server.serve_forever()
"""

    def __init__(self, folder):
        self._folder = folder

    def add(self, collection, file):
        """Adds an archive. pywb makes an index of a WARC file, and uses the one in a WACZ file."""
        options = ["--unpack-wacz"] if file.suffix == ".wacz" else []
        run(PROGRAMS / "wb-manager", "init", collection, folder=self._folder)
        run(PROGRAMS / "wb-manager", "add", *options, collection, file, folder=self._folder)

    def start(self):
        with (self._folder / "log").open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", self.PROGRAM], cwd=self._folder, stdout=subprocess.PIPE, stderr=log, text=True)
        for line in self._process.stdout:
            if line.startswith("port "):
                self._authority = f"127.0.0.1:{int(line.split()[1])}"
                return
        raise RuntimeError("pywb did not start:\n" + (self._folder / "log").read_text())

    def get(self, collection, url):
        """Returns the status and the body of the newest response to a URL, as pywb read them."""
        status, _, body = get(f"http://{self._authority}/{collection}/id_/{url}")
        return status, body

    def stop(self):
        self._process.terminate()
        self._process.wait(60)
        self._process.stdout.close()
