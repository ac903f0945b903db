"""The origin of the hostile page, and the trap into which its ways lead."""

import threading
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from urllib.parse import quote, urlsplit

from ways import WAYS

# Each way leads to an address of its own, in a network that RFC 2544 reserves. Live pages use other networks, so that
# the record tells their connections apart.
REPLAYED = "198.18"
# Ways that leave a live page in this version of Chromium, one or more of each kind. They leave without a click.
LEAVING = """
    script-inline script-external script-module script-dynamic script-handler-load script-handler-error
    script-handler-focus script-xhr script-beacon script-event-source script-web-socket script-stun script-worker
    script-location script-submit script-font script-frame-javascript script-frame-data script-frame-srcdoc
    script-noscript hint-preconnect hint-preconnect-escaped hint-preconnect-comment hint-dns-prefetch hint-prefetch
    hint-preload hint-modulepreload hint-stylesheet hint-base refresh-plain refresh-quoted refresh-bare refresh-escaped
    resource-img resource-img-srcset resource-picture resource-input resource-video resource-frame resource-shadow
    resource-svg-image resource-svg-attributes resource-svg-animate style-import style-import-escaped style-background
    style-background-escaped style-image-set style-variable style-font style-cursor style-mask style-content
    xhtml-prefix xhtml-prefix-hint xhtml-entity-markup xhtml-attlist xhtml-stylesheet svg-default xml-hint xml-html
    field-link-preconnect field-link-dns field-link-preload
""".split()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def __init__(self, address, handler):
        super().__init__(address, handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *arguments):
        pass

    def answer(self, status, type, body, fields=()):
        self.send_response(status)
        if type:
            self.send_header("Content-Type", type)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def hosts(network):
    """Returns the address of each way in a network, by the way's name."""
    return {way.name: f"{network}.{index // 200}.{index % 200 + 1}" for index, way in enumerate(WAYS)}


class Site:
    """Serves the ways, each in a folder `/way/NAME/`. The document `/` has a frame for each of them,
    `/few` for some, and `/live` for those that leave a live page without a click."""

    def __init__(self, network=REPLAYED, api="http://127.0.0.1:9"):
        self._hosts = hosts(network)
        self._domain = f"{network}.test"
        self.api = api
        self._ways = {way.name: way for way in WAYS}
        site = self

        class Answers(Handler):
            def do_GET(self):
                self.answer(*site.answer(urlsplit(self.path).path))

        self._server = Server(("127.0.0.1", 0), Answers)
        self.port = self._server.server_port
        self.authority = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.authority}/"

    def address(self, way):
        return f"{self.url}way/{way.name}/"

    def way(self, opening):
        """Returns the name of the way that caused an opening, or `None`."""
        if (opening.name or "").endswith(self._domain):
            return opening.name.partition(".")[0]
        return next((name for name, host in self._hosts.items() if host == opening.address), None)

    def answer(self, path):
        """Returns the status, type, body and fields of the answer for a path."""
        if path == "/":
            return 200, "text/html", self._frames(WAYS)
        if path == "/live":
            return 200, "text/html", self._frames(way for way in WAYS if way.name in LEAVING)
        if path == "/few":
            return 200, "text/html", self._frames(WAYS[::20])
        _, _, name, file = (path.split("/", 3) + ["", "", ""])[:4]
        way = self._ways.get(name)
        if way is None:
            return 404, "text/plain", b"missing"
        if file == "":
            fields = [(field, self._filled(value, name)) for field, value in way.fields]
            # A hostile document is not always text in its encoding.
            return way.status, way.type, self._filled(way.text, name).encode(way.encoding, "replace"), fields
        type, text = way.files.get(file, (404, ""))
        if type == 302:
            return 302, "text/plain", b"", [("Location", self._filled(text, name))]
        if type == 404:
            return 404, "text/plain", b"missing"
        return 200, type, self._filled(text, name).encode()

    def _frames(self, ways):
        frames = "".join(f"<iframe src='/way/{quote(way.name)}/' title='{escape(way.name)}'></iframe>" for way in ways)
        return f"<!doctype html><meta charset=utf-8><title>Ways out</title><h1>Ways out</h1>{frames}".encode()

    def _filled(self, text, name):
        host = self._hosts[name]
        # Digits and stops that a browser takes for those of ASCII.
        wide = "".join(chr(ord(character) + 0xfee0) if character.isdigit() else "\u3002" for character in host)
        for mark, value in {
            "@URL@": f"http://{host}/{name}", "@HOST@": host, "@NAME@": f"{name}.{self._domain}", "@API@": self.api,
            "@DECIMAL@": str(int(IPv4Address(host))), "@WIDE@": wide,
        }.items():
            text = text.replace(mark, value)
        return text

    def close(self):
        self._server.close()


class Trap:
    """Answers at port 80 of every address, with any type, so that a capture has the resources behind the ways."""

    TYPES = {
        "css": "text/css", "html": "text/html", "js": "text/javascript", "png": "image/png", "svg": "image/svg+xml"}
    SVG = b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><rect width='9' height='9'/></svg>"

    def __init__(self):
        class Answers(Handler):
            def do_GET(self):
                suffix = urlsplit(self.path).path.rpartition("/")[2].rpartition(".")[2]
                type = Trap.TYPES.get(suffix, "text/html")
                body = {"text/html": b"<p>trap", "image/svg+xml": Trap.SVG}.get(type, b"")
                self.answer(200, type, body, [("Access-Control-Allow-Origin", "*")])

        self._server = Server(("0.0.0.0", 80), Answers)

    def close(self):
        self._server.close()
