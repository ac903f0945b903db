"""A proxy on loopback between Larder and a server, which loses requests and answers, or lets a rival write between."""

import socket
import struct
import threading
from collections import deque
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Fields that belong to one connection, or that the proxy writes itself.
HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "server", "date"}


@dataclass
class Fault:
    """The fate of one request. `status` is an answer of the proxy itself; `rival` is called behind the server's answer.

    `forwards` tells whether the server gets the request, and `answers` whether Larder gets the answer; otherwise the
    connection is reset.
    """

    forwards: bool = True
    answers: bool = True
    status: int | None = None
    retry_after: int | None = None
    rival: object = None


LOST_ANSWER = Fault(answers=False)
LOST_REQUEST = Fault(forwards=False, answers=False)
UNAVAILABLE = Fault(forwards=False, status=503)


class Proxy:
    """A proxy in front of a port, at a port that stays the same when the proxy is closed and opened again.

    `seen` has the requests that reached the server: the method, the path, the status of the answer and the fields. One
    request passes at a time, so a rival that holds `lock` writes between two requests.
    """

    def __init__(self, port):
        self.target = port
        self.lock = threading.RLock()
        self.seen = []
        self._faults = {}
        self._server = None
        self.port = 0
        self.open()
        self.authority = f"127.0.0.1:{self.port}"

    def url(self, path):
        return f"http://{self.authority}{path}"

    def next(self, method, *faults):
        """Sets the fates of the next requests with a method; later requests are honest."""
        self._faults.setdefault(method, deque()).extend(faults)

    def writes(self, status=range(200, 300)):
        """Returns the writes that the server has answered with such a status."""
        return [request for request in self.seen if request[0] not in ("GET", "HEAD") and request[2] in status]

    def open(self):
        proxy = self

        class Handler(_Handler):
            owner = proxy

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

        self._server = Server(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_port
        self._connections = set()
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        """Refuses connections from now on, and ends those that exist."""
        self._server.shutdown()
        self._server.server_close()
        for connection in list(self._connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def fate(self, method):
        faults = self._faults.get(method)
        return faults.popleft() if faults else Fault()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        self.owner._connections.add(self.connection)

    def finish(self):
        self.owner._connections.discard(self.connection)
        super().finish()

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.owner.lock:
            fate = self.owner.fate(self.command)
            status, fields, answer = (fate.status or 502), [], b""
            if fate.forwards:
                status, fields, answer = self.forward(body)
                status = fate.status or status
            if fate.rival is not None:
                fate.rival()
        if not fate.answers:
            return self.reset()
        self.send_response_only(status)
        for name, value in fields:
            self.send_header(name, value)
        if fate.retry_after is not None:
            self.send_header("Retry-After", str(fate.retry_after))
        if status != 204:
            self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_PUT = do_PATCH = do_DELETE = do_POST = do_GET

    def forward(self, body):
        connection = HTTPConnection("127.0.0.1", self.owner.target, timeout=30)
        fields = {name: value for name, value in self.headers.items() if name.lower() not in HOP}
        connection.request(self.command, self.path, body or None, fields)
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        self.owner.seen.append((self.command, self.path, response.status, dict(self.headers)))
        # The date of the server decides whether its tag is sound.
        kept = [(name, value) for name, value in response.getheaders() if name.lower() not in HOP - {"date"}]
        return response.status, kept, answer

    def reset(self):
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # The socket is closed when the file on top of it is.
        self.rfile.close()
        self.connection.close()
