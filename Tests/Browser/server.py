"""A real server on loopback, for one test."""

import json
import os
import signal
import subprocess
import tempfile
import threading
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

LARDER = os.environ["LARDER"]
SCOPES = ("read", "download", "write", "purge", "send", "admin")


class Server:
    """Starts the executable that LARDER names, on a directory of its own. The server may ask `origin` only.

    `options` are more options of `larder serve`.
    """

    def __init__(self, origin, tokens=False, options=()):
        self._work = tempfile.TemporaryDirectory()
        self.directory = f"{self._work.name}/cache"
        self._tokens = f"{self._work.name}/tokens" if tokens else None
        # The server reads the tokens at its start.
        self.token = self._make_token("everything", SCOPES) if tokens else None
        self.reader = self._make_token("reader", ["read"]) if tokens else None
        arguments = ["--port", "0", "--directory", self.directory, "--log-format", "json"]
        arguments += ["--allow-origin", origin.authority, "--deny-origin", "*"]
        if tokens:
            arguments += ["--tokens-file", self._tokens]
        self._arguments = arguments
        # The user's own changes and subscriptions are no part of the tests.
        self._environment = {**os.environ, "LARDER_STATE_DIRECTORY": f"{self._work.name}/state"}
        self._options = options
        self._lines = []
        self._start()

    def _start(self):
        self._process = subprocess.Popen(
            [LARDER, "serve", *self._arguments, *self._options], env=self._environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.url = self._read_url()
        # A full pipe would stop the server, so a thread reads its output.
        threading.Thread(target=self._lines.extend, args=(self._process.stdout,), daemon=True).start()

    def _read_url(self):
        for line in self._process.stdout:
            self._lines.append(line)
            record = json.loads(line)
            if record["message"] == "listening":
                return record["url"]
        raise RuntimeError("the server did not start:\n" + "".join(self._lines))

    def _make_token(self, name, scopes):
        options = [word for scope in scopes for word in ("--scope", scope)]
        command = [LARDER, "token", "create", "--tokens-file", self._tokens, "--name", name, *options]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def call(self, method, path, json_body=None, body=None, query=None, namespace=None, fields=()):
        """Calls the API past the browser, with more header fields. Returns the status and the JSON of the answer."""
        connection = HTTPConnection(urlsplit(self.url).netloc, timeout=60)
        fields = {"Content-Type": "text/plain" if json_body is None else "application/json", **dict(fields)}
        if self.token is not None:
            fields["Authorization"] = f"Bearer {self.token}"
        if namespace is not None:
            fields["Larder-Namespace"] = namespace
        data = body if json_body is None else json.dumps(json_body)
        connection.request(method, path + (f"?{urlencode(query)}" if query else ""), data, fields)
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return response.status, json.loads(text)

    def call_lines(self, method, path, json_body):
        """Calls the API past the browser. Returns the lines of JSON of the answer, a line for each item."""
        connection = HTTPConnection(urlsplit(self.url).netloc, timeout=60)
        connection.request(method, path, json.dumps(json_body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        lines = [json.loads(line) for line in response.read().splitlines()]
        connection.close()
        assert response.status == 200, lines
        return lines

    def download(self, url, **options):
        """Downloads a URL. Returns its entry."""
        status, answer = self.call("POST", "/download", {"url": url, **options})
        assert status == 200, answer
        return answer["entry"]

    def start(self, url):
        """Starts a download, and does not wait for its end."""
        connection = HTTPConnection(urlsplit(self.url).netloc, timeout=60)
        fields = {"Content-Type": "application/json", "Prefer": "respond-async"}
        connection.request("POST", "/download", json.dumps({"url": url}), fields)
        response = connection.getresponse()
        assert response.status == 202, response.read()
        connection.close()

    def put(self, key, body, **query):
        """Stores data under a key. Returns its entry."""
        status, answer = self.call("PUT", f"/entries/{quote(key, safe='')}/content", body=body, query=query)
        assert status == 200, answer
        return answer

    def entry(self, key):
        """Returns an entry's metadata, or `None` if the entry is not held."""
        status, answer = self.call("GET", f"/entries/{quote(key, safe='')}")
        return answer if status == 200 else None

    def count(self, **filter):
        """Returns the number of entries that match a filter, or of all entries without a filter."""
        query = {**(filter or {"all": "true"}), "dryRun": "true"}
        return self.call("DELETE", "/entries", query=query)[1]["removed"]

    def restart(self, options=None):
        """Ends the server, and starts it again on the same directory, at another port, perhaps with other options."""
        self._end()
        if options is not None:
            self._options = options
        self._start()

    def files(self):
        """Returns the paths of the files in the server's directory."""
        return {str(path) for path in Path(self.directory).rglob("*") if not path.is_dir()}

    def log(self):
        """Returns the lines that the server has logged so far."""
        return "".join(self._lines)

    def peak_memory(self):
        """Returns the most bytes of memory that the process has had."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))

    def verify(self):
        """Ends the server, checks its directory, and starts it again. Returns the exit status and the output."""
        self._end()
        result = subprocess.run(
            [LARDER, "verify", "--directory", self.directory], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False)
        self._start()
        return result.returncode, result.stdout

    @property
    def process_id(self):
        return self._process.pid

    def kill(self):
        """Ends the server at once, as a loss of power would."""
        self._process.kill()
        self._process.wait()

    def stop(self):
        try:
            self._end()
        finally:
            self._work.cleanup()

    def _end(self):
        if self._process.poll() == -signal.SIGKILL:
            return
        self._process.send_signal(signal.SIGTERM)
        status = self._process.wait(60)
        assert status == 0, f"the server ended with {status}:\n" + "".join(self._lines)
