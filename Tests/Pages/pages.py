"""Origins of a few documents, and captures with a browser."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from replay import Capture, get
from server import Server

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
