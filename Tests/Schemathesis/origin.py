"""The origin of scripts/check-api. It answers each request at once, according to the path.

/status/410 answers with that status, /text and /bytes with other types than JSON. /fresh may be stored, /vary has
variants, /moved leads to /json, and any other path is JSON. The only argument is the file that gets the origin's port.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Origin(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # The head and the body are two writes.
    disable_nagle_algorithm = True

    def log_message(self, *arguments):
        pass

    def __getattr__(self, name):
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)

    def answer(self):
        received = self.receive()
        if self.command not in METHODS:
            return self.send(405, {"Allow": ", ".join(METHODS)})
        if self.command == "OPTIONS":
            return self.send(200, {"Allow": ", ".join(METHODS), "Content-Type": "application/json"}, b"{}")
        path = urlsplit(self.path).path
        parts = path.split("/")
        if parts[1] == "status" and len(parts) > 2 and parts[2].isdigit():
            return self.send(int(parts[2]), {"Content-Type": "text/plain"}, b"as you wish")
        if parts[1] == "moved":
            return self.send(302, {"Location": "/json"})
        tag = '"%s"' % abs(hash(path))
        fields = {"ETag": tag}
        if parts[1] == "fresh":
            fields["Cache-Control"] = "max-age=60"
            fields["Cache-Groups"] = '"a", "b, c"'
        if parts[1] == "vary":
            fields.update({"Vary": "Accept, Larder-Check", "Cache-Control": "max-age=60, stale-while-revalidate=5"})
        if tag in self.headers.get("If-None-Match", ""):
            return self.send(304, fields)
        if parts[1] == "text":
            return self.send(200, {**fields, "Content-Type": "text/plain; charset=utf-8"}, "Grüße\n".encode())
        if parts[1] == "bytes":
            return self.send(200, {**fields, "Content-Type": "application/octet-stream"}, bytes(range(256)) * 100)
        body = json.dumps({"path": self.path, "method": self.command, "received": received}).encode()
        self.send(200, {**fields, "Content-Type": "application/json"}, body)

    def receive(self):
        """Reads the body. Returns its length."""
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return len(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        length = 0
        while size := int(self.rfile.readline().split(b";")[0], 16):
            length += len(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline() not in (b"\r\n", b"\n", b""):
            pass
        return length

    def send(self, status, fields, body=b""):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD" and status not in (204, 304):
            self.wfile.write(body)


server = ThreadingHTTPServer(("127.0.0.1", 0), Origin)
temporary = sys.argv[1] + ".new"
with open(temporary, "w") as file:
    file.write(str(server.server_port))
# Renaming makes the file appear with all of its content.
os.rename(temporary, sys.argv[1])
server.serve_forever()
