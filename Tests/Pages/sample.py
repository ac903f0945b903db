"""The site of `site/`, served on two addresses of one port, with a log of the requests in memory."""

import gzip
import json
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

FOLDER = Path(__file__).with_name("site")
RESOURCES = json.loads((FOLDER / "expect.json").read_text())["resources"]
# The addresses of the hosts in expect.json.
HOSTS = {"main": "127.0.0.1", "cdn": "127.0.0.2"}
TYPES = {
    ".css": "text/css", ".html": "text/html", ".ico": "image/png", ".js": "text/javascript",
    ".json": "application/json", ".mjs": "text/javascript", ".png": "image/png", ".svg": "image/svg+xml",
    ".txt": "text/plain", ".vtt": "text/vtt", ".webm": "video/webm", ".woff2": "font/woff2",
}


class Site:
    """The two origins of the sample page, until they are closed. `requests` has the host and the target of each."""

    def __init__(self):
        self.requests = []
        self._servers = listen_on_one_port(HOSTS.values(), self._handler())
        self._port = self._servers[0].server_port
        self.authorities = [f"{address}:{self._port}" for address in HOSTS.values()]
        self.authority = self.authorities[0]
        self.url = self.address("main", "/index.html")
        for server in self._servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()

    def address(self, host, path):
        return f"http://{HOSTS[host]}:{self._port}{path}"

    def statuses(self):
        """Returns the status of each resource that a static capture must have, by URL."""
        return {
            self.address(resource["host"], quote(resource["path"], safe="/,") + resource.get("query", "")):
                302 if "redirect" in resource else resource.get("status", 200)
            for resource in RESOURCES if resource["static"]}

    def body(self, path):
        """Returns the bytes of a path, or `None` if the site does not have it."""
        file = FOLDER / "www" / path.lstrip("/")
        if not file.is_file():
            return None
        if file.suffix not in (".html", ".css", ".js", ".json"):
            return file.read_bytes()
        text = file.read_bytes()
        for name, host in ((b"@@MAIN@@", "main"), (b"@@CDN@@", "cdn")):
            text = text.replace(name, self.address(host, "").encode())
        return text

    def close(self):
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def _handler(self):
        site = self
        expected = {unquote(resource["path"]): resource for resource in RESOURCES}

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # The head and the body are two writes.
            disable_nagle_algorithm = True

            def log_message(self, *arguments):
                pass

            def answer(self, status, body=b"", **fields):
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def handle_any(self):
                site.requests.append((self.headers["Host"].partition(":")[0], self.path))
                path = unquote(urlsplit(self.path).path)
                self.rfile.read(int(self.headers["Content-Length"] or 0))
                if self.command == "POST":
                    return self.answer(200, b"posted\n", Content_Type="text/plain")
                if path == "/api/events":
                    return self.answer(200, b"data: one\n\n", Content_Type="text/event-stream")
                resource = expected.get(path, {})
                if "redirect" in resource:
                    return self.answer(302, Location=resource["redirect"])
                if "cookie" in resource and "sid=1" not in (self.headers["Cookie"] or ""):
                    return self.answer(403, b"no cookie\n", Content_Type="text/plain")
                # A slow answer: no event ends this wait early.
                threading.Event().wait(resource.get("slow", 0))
                body = site.body(path)
                if body is None:
                    return self.answer(404, b"missing\n", Content_Type="text/plain")
                self.send_file(path, body, "gzip" in resource)

            def send_file(self, path, body, is_compressed):
                suffix = Path(path).suffix
                fields = {
                    "Accept_Ranges": "bytes", "Content_Type": TYPES[suffix], "ETag": f'"{zlib.crc32(body):x}"',
                    "Cache_Control": "no-store" if path.startswith("/api/") else "max-age=60",
                }
                if path == "/index.html":
                    fields["Set_Cookie"] = "sid=1; Path=/; HttpOnly"
                if self.headers["Host"].startswith(HOSTS["cdn"]):
                    fields["Access_Control_Allow_Origin"] = "*"
                if is_compressed and "gzip" in (self.headers["Accept-Encoding"] or ""):
                    fields |= {"Content_Encoding": "gzip", "Vary": "Accept-Encoding"}
                    body = gzip.compress(body)
                bounds = (self.headers["Range"] or "").removeprefix("bytes=").partition("-")
                if bounds[0] == "" or suffix != ".webm":
                    return self.answer(200, body, **fields)
                start, end = int(bounds[0]), min(int(bounds[2] or len(body)), len(body) - 1)
                self.answer(206, body[start:end + 1], Content_Range=f"bytes {start}-{end}/{len(body)}", **fields)

            do_GET = do_POST = do_HEAD = do_OPTIONS = do_PUT = do_DELETE = handle_any

        return Handler


class Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def listen_on_one_port(addresses, handler):
    """Returns a server for each address, all on the same free port."""
    first, *others = addresses
    while True:
        servers = [Listener((first, 0), handler)]
        try:
            servers += [Listener((address, servers[0].server_port), handler) for address in others]
        except OSError:
            # Another process has the port on another address.
            for server in servers:
                server.server_close()
        else:
            return servers
