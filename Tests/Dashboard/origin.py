"""The origin of the dashboard's tests: bodies and documents that a test puts there, and transfers that it drives."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Transfer:
    """A body that is sent only as far as the test allows."""

    def __init__(self, length, announced=True):
        self.length = length
        self.announced = announced
        self._allowed = 0
        self._change = threading.Condition()

    def allow(self, count):
        """Allows the first `count` bytes of the body to be sent."""
        with self._change:
            self._allowed = count
            self._change.notify_all()

    def finish(self):
        self.allow(self.length)

    def pieces(self):
        sent = 0
        while sent < self.length:
            with self._change:
                self._change.wait_for(lambda: self._allowed > sent)
                piece = min(self._allowed - sent, 64 << 10)
            yield bytes(piece)
            sent += piece


class Origin:
    """An origin on a port of loopback, until it is closed. An unknown path gets 404."""

    def __init__(self):
        self.bodies = {}
        # The bodies of documents that requests can write; `None` for a deleted document.
        self.documents = {}
        self.transfers = {}
        self.answers = {}
        # The paths of the GET requests, and the methods, paths and bodies of the others.
        self.requests = []
        self.writes = []
        origin = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # The head and the body are two writes.
            disable_nagle_algorithm = True

            def log_message(self, *arguments):
                pass

            def do_GET(self):
                origin.requests.append(self.path)
                if ("GET", self.path) in origin.answers:
                    return self.answer(origin.answers["GET", self.path])
                if self.path in origin.transfers:
                    return self.transfer(origin.transfers[self.path])
                if self.path in origin.documents:
                    return self.send_document()
                type, body, fields = origin.bodies.get(self.path, ("text/plain", None, {}))
                self.send_response(404 if body is None else 200)
                for name, value in {"Content-Type": type, **fields}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def do_PUT(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                origin.writes.append((self.command, self.path, body.decode()))
                if (self.command, self.path) in origin.answers:
                    return self.answer(origin.answers[self.command, self.path])
                present = origin.documents.get(self.path)
                wanted = self.headers.get("If-Match")
                is_new = "If-None-Match" in self.headers
                if (wanted and wanted != self.tag(present)) or (is_new and present is not None):
                    return self.answer(412)
                if self.command != "POST":
                    origin.documents[self.path] = None if self.command == "DELETE" else body
                return self.answer(204)

            do_POST = do_DELETE = do_PUT

            @staticmethod
            def tag(body):
                """Returns a tag that is a digest, so that Larder can rely on it at once."""
                return f'"{hashlib.sha256(body).hexdigest()}"' if body is not None else None

            def send_document(self):
                body = origin.documents[self.path]
                if body is None:
                    return self.answer(404)
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("ETag", self.tag(body))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def answer(self, status):
                """Sends a status without a body; for `None`, ends the connection without an answer."""
                if status is None:
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def transfer(self, transfer):
                self.send_response(200)
                self.send_header("Content-Type", "application/octet-stream")
                if transfer.announced:
                    self.send_header("Content-Length", str(transfer.length))
                else:
                    self.send_header("Connection", "close")
                    self.close_connection = True
                self.end_headers()
                try:
                    for piece in transfer.pieces():
                        self.wfile.write(piece)
                except ConnectionError:
                    # Larder has cancelled the download.
                    self.close_connection = True

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.authority = f"127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://{self.authority}{path}"

    def serve(self, path, type, body, **fields):
        """Puts a body at a path. Returns its URL."""
        self.bodies[path] = (type, body if isinstance(body, bytes) else body.encode(), fields)
        return self.url(path)

    def keep(self, path, body):
        """Puts a document at a path, as a writer that knows no other writers. Returns its URL."""
        self.documents[path] = body if isinstance(body, bytes) else body.encode()
        return self.url(path)

    def text(self, path):
        """Returns the body of a document."""
        return self.documents[path].decode()

    def refuse(self, method, path, status):
        """Answers all requests of a method and a path with a status; for `None`, without an answer."""
        self.answers[method, path] = status

    def permit(self, method, path):
        """Ends a refusal."""
        del self.answers[method, path]

    def hold(self, path, length, announced=True):
        """Puts a body at a path. Returns the transfer with which the test sends it."""
        self.transfers[path] = Transfer(length, announced)
        return self.transfers[path]

    def close(self):
        for transfer in self.transfers.values():
            transfer.finish()
        self._server.shutdown()
        self._server.server_close()
