"""A newcomer's machine: a fresh clone with its build, an empty home, and a public internet of one server.

The machine consists of the namespaces of this process, which must be its own (unshare --net --mount). Other processes
do not see the machine, and no process in it reaches a network.
"""

import http.server
import os
import shutil
import ssl
import subprocess
import threading
from pathlib import Path

# A globally routable address, which the server may ask without --allow-origin. Here it belongs to this machine.
ADDRESS = "93.184.216.34"
# The content of the public internet, by host and path.
PUBLIC = {"example.com": {"/": ("text/html", b"<!doctype html>\n<title>Example</title>\n")}}

# The stand-in for scripts/run, without the build, which exists already. A release build has this layout by default.
RUN = """#!/bin/sh
export LARDER_LAYOUT=hashed LARDER_ORIGIN_CA=/tmp/authority.pem
exec "$(dirname "$0")/../.build/release/larder" serve "$@"
"""


def build(place, larder):
    """Makes `/tmp` a directory of its own, with a clone in it, and starts the internet. Returns the clone's path.

    `place` is an empty directory, `larder` the executable.
    """
    for name in ("clone/scripts", "clone/.build/release", "home"):
        (place / name).mkdir(parents=True)
    script = place / "clone/scripts/run"
    script.write_text(RUN)
    script.chmod(0o755)
    executable = place / "clone/.build/release/larder"
    executable.touch()
    mount(larder, executable)

    names = " ".join(PUBLIC)
    (place / "hosts").write_text(f"127.0.0.1 localhost\n{ADDRESS} {names}\n")
    mount(place / "hosts", "/etc/hosts")
    (place / "resolv.conf").write_text("")
    mount(place / "resolv.conf", "/etc/resolv.conf")
    run("ip", "link", "set", "lo", "up")
    run("ip", "address", "add", f"{ADDRESS}/32", "dev", "lo")
    certificate, key = place / "authority.pem", place / "authority.key"
    run(
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
        "-subj", "/CN=The public internet", "-addext", "subjectAltName=" + ",".join(f"DNS:{name}" for name in PUBLIC),
        "-keyout", key, "-out", certificate,
    )
    serve(80)
    serve(443, certificate, key)

    mount(place, "/tmp")
    return Path("/tmp/clone")


def environment():
    """Returns the variables of a newcomer's terminal."""
    path = os.environ.get("PATH", os.defpath)
    return {"PATH": path, "HOME": "/tmp/home", "LANG": "C.UTF-8", "TERM": "dumb", "TZ": "UTC", "PYTHONUNBUFFERED": "1"}


def listening():
    """Returns the ports of this machine on which a process listens."""
    ports = set()
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        if os.path.exists(table):
            rows = [row.split() for row in Path(table).read_text().splitlines()[1:]]
            ports |= {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == "0A"}
    return ports


def serve(port, certificate=None, key=None):
    """Answers for every public name on a port, with TLS if there is a certificate."""
    server = http.server.ThreadingHTTPServer((ADDRESS, port), PublicServer)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()


class PublicServer(http.server.BaseHTTPRequestHandler):
    """The only server of the internet."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        kind, body = PUBLIC.get(self.headers["Host"], {}).get(self.path, ("text/plain", None))
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *words):
        """Logs no request."""


def mount(source, target):
    """Makes a file or a directory appear at another place, too."""
    run("mount", "--rbind", source, target)


def run(*command):
    """Runs a command that must succeed. Finds commands of administrators, too."""
    path = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
    words = [str(word) for word in command]
    executable = shutil.which(words[0], path=path) or words[0]
    result = subprocess.run([executable, *words[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {result.stdout.strip()}")
