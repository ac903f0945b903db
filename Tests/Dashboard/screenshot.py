"""Writes the picture of the dashboard that README.md shows: screenshot.py FILE

The picture is the overview of a server with entries and two running downloads, after a minute and a half of requests.
"""

import math
import random
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlsplit

from browser import start_chromium
from dashboard import Dashboard
from origin import Origin
from server import Server

SECONDS = 90
STEP = 0.25
RATE = 60


class Visitor:
    """Sends the requests of the picture's minute and a half: mostly hits, and some downloads of new URLs."""

    def __init__(self, server, origin, hits):
        self._connection = HTTPConnection(urlsplit(server.url).netloc, timeout=60)
        self._server = server
        self._origin = origin
        self._hits = hits
        self._random = random.Random(1)
        self._count = 0

    def visit(self, count):
        """Sends `count` requests."""
        for _ in range(count):
            if self._random.random() < 0.06:
                self._count += 1
                download(self._server, self._origin, "api.localhost", f"/v2/orders/{self._count}", 9_000)
            else:
                self._connection.request("GET", f"/json?url={quote(self._random.choice(self._hits), safe='')}")
                self._connection.getresponse().read()


def url_at(origin, host, path):
    """Returns the URL of a path of the origin with another host. libcurl takes hosts below `localhost` for loopback."""
    return origin.url(path).replace("127.0.0.1", host)


def download(server, origin, host, path, length):
    """Has the server download a body of a length. Returns its URL."""
    origin.serve(path, "application/json", b'"' + b"x" * (length - 2) + b'"')
    url = url_at(origin, host, path)
    server.download(url, ttl=86400, tags=[host.partition(".")[0]])
    return url


def start_transfers(server, origin):
    """Starts the downloads that run in the picture. Returns each transfer with its length."""
    transfers = []
    for path, length in (("/debian/chromium_142.0.7444_amd64.deb", 96_000_000), ("/models/minilm-l6.onnx", 90_400_000)):
        transfers.append((origin.hold(path, length), length))
        server.start(url_at(origin, "packages.localhost", path))
    return transfers


def take(server, origin, page, file):
    """Fills the server, and saves the picture."""
    hits = [download(server, origin, "api.localhost", f"/v2/users/{number}", 150_000) for number in range(300)]
    hits += [download(server, origin, "maps.localhost", f"/tiles/{number}.json", 1_400_000) for number in range(60)]
    transfers = start_transfers(server, origin)
    visitor = Visitor(server, origin, hits)
    page.open(server)
    begin = time.monotonic()
    while (passed := time.monotonic() - begin) < SECONDS:
        wave = 1 + 0.35 * math.sin(passed / 9) + 0.15 * math.sin(passed / 2.3)
        visitor.visit(round(RATE * STEP * wave))
        for index, (transfer, length) in enumerate(transfers):
            transfer.allow(int(length * (0.72 - 0.3 * index) * passed / SECONDS))
        time.sleep(STEP)
    page.wait(lambda: len(page.all(".download[data-state=running]")) == len(transfers), "the downloads")
    # A reading may include a download of the last request.
    page.wait(lambda: page.texts(".tile .value")[-1] == str(len(transfers)), "the number of downloads")
    page.save(file)


def main(file):
    origin = Origin()
    driver = start_chromium()
    try:
        server = Server(origin, options=["--memory-limit", "128MiB", "--disk-limit", "1GiB"])
        take(server, origin, Dashboard(driver, file.parent), file)
        server.stop()
    finally:
        driver.quit()
        origin.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
