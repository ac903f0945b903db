"""A server that is killed and started again, with its cache and its outbox in one folder."""

import json
import os
import re
import signal
import subprocess
import threading
from collections import deque
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlencode, urlsplit


class Away(Exception):
    """The server did not answer. It may have performed the request."""


class Larder:
    """A running `larder serve` on loopback. `folder` keeps the files of all its processes.

    `origins` are the rules of permitted origins, such as `127.0.0.1:8000`.
    """

    def __init__(self, executable, folder, origins):
        self._command = [
            executable, "serve", "--port", "0", "--directory", f"{folder}/cache", "--disk-limit", "1GiB",
            "--log-format", "json", "--deny-origin", "*"]
        for origin in origins:
            self._command += ["--allow-origin", origin]
        self._environment = {**os.environ, "LARDER_STATE_DIRECTORY": f"{folder}/state"}
        self.log = deque(maxlen=2000)
        self._authority = None
        self.start()

    def start(self):
        self._process = subprocess.Popen(
            self._command, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in self._process.stdout:
            self.log.append(line)
            found = re.search(r'"message":"listening".*"url":"([^"]*)"', line)
            if found:
                break
        else:
            raise RuntimeError("the server did not start:\n" + "".join(self.log))
        # A full pipe would stop the server, so a thread reads its output.
        threading.Thread(target=self.log.extend, args=(self._process.stdout,), daemon=True).start()
        self._authority = urlsplit(found.group(1)).netloc

    def kill(self):
        """Ends the process at once, as a loss of power would."""
        self._authority = None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self):
        """Ends the process in order, and fails if it does not end so."""
        self._process.terminate()
        status = self._process.wait(60)
        if status != 0:
            raise RuntimeError(f"the server ended with {status}:\n" + "".join(self.log))

    def request(self, method, path, body=None, query=None, fields=()):
        """Returns the status, the text and the fields of an answer. Raises `Away`."""
        authority = self._authority
        if authority is None:
            raise Away
        connection = HTTPConnection(authority, timeout=30)
        fields = {"Content-Type": "application/json", **dict(fields)}
        try:
            connection.request(method, path + (f"?{urlencode(query)}" if query else ""), body, fields)
            response = connection.getresponse()
            return response.status, response.read().decode(), response.headers
        except (OSError, HTTPException) as error:
            raise Away from error
        finally:
            connection.close()

    def call(self, method, path, value=None, query=None):
        """Returns the status and the JSON of an answer. Raises `Away`."""
        body = None if value is None else value if isinstance(value, str) else json.dumps(value)
        status, text, _ = self.request(method, path, body, query)
        return status, json.loads(text) if text else None
