"""A captured page, and its replay in Chromium."""

import json
from http.client import HTTPConnection
from urllib.parse import urlsplit

from browser import Page


class Capture:
    """A page that a server has captured. The constructor waits for the end of the capture."""

    def __init__(self, server, url, **options):
        self.server = server
        status, page = server.call("POST", "/pages", {"url": url, **options}, fields={"Prefer": "wait=60"})
        assert status == 200, page
        self.page = page
        self.key = page["key"]
        self.url = page["finalUrl"]

    def resources(self):
        status, answer = self.server.call("GET", f"/pages/{self.key}/resources")
        assert status == 200, answer
        return answer["resources"]

    def view(self):
        """Opens the page. Returns the URL below which the replay has the captured URLs."""
        return open_view(self.server, self.key)


def open_view(server, key):
    """Opens a page of a server. Returns the URL below which the replay has the captured URLs."""
    status, location, _ = get(f"{server.url}/pages/{key}/view")
    assert status == 303
    path = location.split("/")
    assert path[:4] == ["", "pages", key, "view"], location
    return f"{server.url}{'/'.join(path[:5])}/"


def get(url):
    """Requests a URL. Returns the status, the field Location and the body."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=60)
    connection.request("GET", url.removeprefix(f"{parts.scheme}://{parts.netloc}") or "/")
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, response.headers["Location"], body


class Replay(Page):
    """The window with a replay. A script of the test runs in it, although those of the page do not."""

    def visit(self, url):
        """Loads a URL, and waits until its document is complete."""
        self.mark()
        self.driver.get(url)
        self.wait(self.has_moved, url)

    def mark(self):
        """Marks the present document, so that ``has_moved`` knows another one."""
        self.value("window.isMarked = true")

    def has_moved(self):
        """Whether the window shows another document than the marked one, and shows it completely."""
        return self.value("return window.isMarked === undefined && document.readyState === 'complete'")

    def own_ports(self):
        """Returns the ports on which Chromium and its driver receive the commands of the test."""
        debugger = self.driver.capabilities["goog:chromeOptions"]["debuggerAddress"]
        return {int(debugger.rpartition(":")[2]), urlsplit(self.driver.service.service_url).port}

    def requests(self):
        """Returns the URLs that the window has requested since the last call, without those that a policy blocked."""
        urls, blocked = {}, set()
        for entry in self.driver.get_log("performance"):
            event = json.loads(entry["message"])["message"]
            parameters = event["params"]
            if event["method"] == "Network.requestWillBeSent":
                urls.setdefault(parameters["requestId"], []).append(parameters["request"]["url"])
            if event["method"] == "Network.loadingFailed" and "blockedReason" in parameters:
                blocked.add(parameters["requestId"])
        return [url for request, found in urls.items() if request not in blocked for url in found]

    def show(self, url, size):
        """Loads a URL, and scrolls through the page, so that the browser loads lazy images."""
        self.show_as(size)
        self.visit(url)
        self.value("scrollTo(0, document.documentElement.scrollHeight)")
        self.wait(lambda: self.value("return [...document.images].every((image) => image.complete)"), "the images")
        self.value("scrollTo(0, 0)")

    def images(self):
        """Returns the width of each image of the page by the end of its URL; 0 for an image that is not shown."""
        return self.value("""
            return [...document.images].map((image) => [
                (image.currentSrc || image.src).replace(/^data:.*/, "data:").replace(/.*\\//, ""), image.naturalWidth])
            """)

    def inside(self, selector, read):
        """Returns the result of `read` inside a frame."""
        self.driver.switch_to.frame(self.find(selector))
        try:
            return read()
        finally:
            self.driver.switch_to.default_content()

    def whole(self, name, size, height):
        """Saves a screenshot of the first `height` pixels of the page."""
        self.show_as((size[0], height))
        self.picture(name)
        self.show_as(size)
