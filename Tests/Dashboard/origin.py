"""The origin of the dashboard's tests: bodies that a test puts there, and transfers that a test drives."""

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
        self.transfers = {}
        self.requests = []
        origin = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # The head and the body are two writes.
            disable_nagle_algorithm = True

            def log_message(self, *arguments):
                pass

            def do_GET(self):
                origin.requests.append(self.path)
                if self.path in origin.transfers:
                    return self.transfer(origin.transfers[self.path])
                type, body, fields = origin.bodies.get(self.path, ("text/plain", None, {}))
                self.send_response(404 if body is None else 200)
                for name, value in {"Content-Type": type, **fields}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

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

    def hold(self, path, length, announced=True):
        """Puts a body at a path. Returns the transfer with which the test sends it."""
        self.transfers[path] = Transfer(length, announced)
        return self.transfers[path]

    def close(self):
        for transfer in self.transfers.values():
            transfer.finish()
        self._server.shutdown()
        self._server.server_close()
