"""Runs a command beside an origin and a server, both on loopback: world.py LARDER COMMAND...

LARDER is the server's executable. The server asks for tokens, and its directory is temporary. The command finds
CHECK_URL, CHECK_TOKEN (with all scopes) and CHECK_ORIGIN in its environment. The script exits with the status of the
command, or with 1 if the server does not start or does not stop in order.
"""

import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading


class Origin(http.server.BaseHTTPRequestHandler):
    """Answers each path with a JSON object that names it."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = json.dumps({"path": self.path}).encode()
        self.send_response(404 if self.path.startswith("/missing") else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Cache-Control", "max-age=60")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def start(larder, directory, port):
    """Starts the server. Returns its process, its URL and a token."""
    made = subprocess.run(
        [larder, "token", "create", "--tokens-file", f"{directory}/tokens", "--name", "check", "--namespace", "*"]
        + [word for scope in ("read", "download", "write", "purge", "admin") for word in ("--scope", scope)],
        check=True, capture_output=True, text=True,
    )
    server = subprocess.Popen(
        [larder, "serve", "--port", "0", "--directory", f"{directory}/cache", "--tokens-file", f"{directory}/tokens",
         "--allow-origin", f"127.0.0.1:{port}", "--disk-limit", "4GiB", "--log-format", "json"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    lines = []
    for line in server.stdout:
        lines.append(line)
        found = re.search(r'"message":"listening".*"url":"([^"]*)"', line)
        if found:
            # The server's further output must not fill the pipe.
            threading.Thread(target=server.stdout.read, daemon=True).start()
            return server, found.group(1), made.stdout.split()[-1]
    sys.exit("the server did not start:\n" + "".join(lines))


def main(larder, *command):
    origin = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as directory:
        server, url, token = start(larder, directory, origin.server_port)
        try:
            environment = dict(
                os.environ, CHECK_URL=url, CHECK_TOKEN=token, CHECK_ORIGIN=f"http://127.0.0.1:{origin.server_port}")
            status = subprocess.run(command, env=environment).returncode
        finally:
            server.terminate()
            ended = server.wait(20)
    if ended:
        sys.exit(f"the server ended with {ended}")
    sys.exit(status)


main(*sys.argv[1:])
