"""Servers of other makers, each on a free port of loopback and a folder of its own.

A server has resources under `path(name)`. `first` is the body of a new resource, and `edited(text, field, value)` is a
body with another value in one field; a field is a member of JSON, or a property of a calendar's event.
"""

import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path

BINARIES = Path(sys.executable).parent


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    """A process that serves HTTP, until it is stopped."""

    type = "application/json"
    # The fields of each request; a credential of Larder has the secret ones.
    secrets = {}

    def __init__(self, folder):
        self.folder = Path(folder)
        self.port = free_port()
        self.prepare()
        self.start()
        try:
            self.create()
        except BaseException:
            self.stop()
            raise

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                self.command(), stdout=log, stderr=log, cwd=self.folder, env={**os.environ, "HOME": str(self.folder)})
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"{type(self).__name__} did not start:\n{(self.folder / 'log').read_text()}")

    def stop(self):
        self._process.terminate()
        self._process.wait(30)

    def prepare(self):
        """Writes the files that the process needs."""

    def create(self):
        """Makes the collection that the resources are in."""

    def request(self, method, path, body=None, **fields):
        """Returns the status, the text and the fields of an answer."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        fields = {"Content-Type": self.type, **self.secrets, **{n.replace("_", "-"): v for n, v in fields.items()}}
        connection.request(method, path, body, fields)
        response = connection.getresponse()
        answer = response.status, response.read().decode(), response.headers
        connection.close()
        return answer

    def read(self, path):
        """Returns the body of a resource; `None` without the resource."""
        status, text, _ = self.request("GET", path)
        assert status in (200, 404), (status, text)
        return text if status == 200 else None

    def write(self, path, text):
        """Writes a resource as another writer, without regard to its version."""
        status, answer, _ = self.request("PUT", path, text)
        assert status in (200, 201, 204), (status, answer)

    def remove(self, path):
        status, answer, _ = self.request("DELETE", path)
        assert status in (200, 204), (status, answer)

    # MARK: Bodies

    def first(self, name):
        return json.dumps({"id": name, "title": "Old", "place": "Old", "exact": 9007199254740993})

    def edited(self, text, field, value):
        return json.dumps({**json.loads(text), field: value})

    def field(self, text, field):
        return json.loads(text).get(field)


class Kinto(Server):
    """Records in memory. An answer has the record, its date and its permissions. The tag is a date in milliseconds."""

    secrets = {"Authorization": "Basic " + base64.b64encode(b"writer:secret").decode()}

    def prepare(self):
        (self.folder / "kinto.ini").write_text("\n".join([
            "[app:main]", "use = egg:kinto", "kinto.userid_hmac_secret = outbox",
            "kinto.storage_backend = kinto.core.storage.memory", "kinto.cache_backend = kinto.core.cache.memory",
            "kinto.permission_backend = kinto.core.permission.memory", "multiauth.policies = basicauth",
            "kinto.bucket_create_principals = system.Authenticated", "[server:main]", "use = egg:waitress#main",
            "host = 127.0.0.1", "port = %(http_port)s", ""]))

    def command(self):
        return [BINARIES / "kinto", "start", "--ini", "kinto.ini", "--port", str(self.port)]

    def create(self):
        for path in ("/v1/buckets/larder", "/v1/buckets/larder/collections/notes"):
            status, answer, _ = self.request("PUT", path, "{}")
            assert status == 201, answer

    def path(self, name):
        return f"/v1/buckets/larder/collections/notes/records/{name}"

    def first(self, name):
        return json.dumps({"data": {"title": "Old", "place": "Old", "exact": 9007199254740993}})

    def edited(self, text, field, value):
        document = json.loads(text)
        document["data"][field] = value
        return json.dumps(document)

    def write(self, path, text):
        document = json.loads(text)
        # The server sets the date. A date in the body would be a wish.
        document["data"].pop("last_modified", None)
        super().write(path, json.dumps(document))

    def field(self, text, field):
        return json.loads(text)["data"].get(field)


class Wsgidav(Server):
    """Files. Tag and date have the resolution of a second."""

    def prepare(self):
        (self.folder / "files").mkdir()

    def command(self):
        return [
            BINARIES / "wsgidav", "--no-config", "--host", "127.0.0.1", "--port", str(self.port), "--root", "files",
            "--auth", "anonymous", "-q"]

    def path(self, name):
        return f"/{name}.json"


class Apache(Server):
    """Files, with mod_dav. The tag is weak within the first second."""

    modules = Path("/usr/lib/apache2/modules")

    def __init__(self, folder):
        # pytest keeps its folders from other users, and a process of root serves as another user.
        self._own = tempfile.TemporaryDirectory(prefix="larder-apache-")
        super().__init__(self._own.name)

    def stop(self):
        super().stop()
        self._own.cleanup()

    def prepare(self):
        (self.folder / "files").mkdir()
        loaded = "\n".join(
            f"LoadModule {name}_module {self.modules}/mod_{name}.so"
            for name in ("mpm_event", "authz_core", "mime", "dav", "dav_fs"))
        user = ""
        if os.getuid() == 0:
            user = "User nobody\nGroup nogroup"
            for folder in (self.folder, self.folder / "files"):
                shutil.chown(folder, "nobody", "nogroup")
        (self.folder / "httpd.conf").write_text(f"""
            {loaded}
            {user}
            ServerRoot {self.folder}
            ServerName 127.0.0.1
            PidFile {self.folder}/pid
            DefaultRuntimeDir {self.folder}
            Listen 127.0.0.1:{self.port}
            ErrorLog {self.folder}/errors
            TypesConfig /etc/mime.types
            AddType application/json .json
            DocumentRoot {self.folder}/files
            DavLockDB {self.folder}/locks
            <Directory {self.folder}/files>
                Dav On
                Require all granted
            </Directory>
            """)

    def command(self):
        return ["/usr/sbin/apache2", "-X", "-f", str(self.folder / "httpd.conf")]

    def path(self, name):
        return f"/{name}.json"


class Calendar(Server):
    """A calendar of events, each in a resource of its own. The tag is a digest."""

    type = "text/calendar; charset=utf-8"

    def first(self, name):
        return "\r\n".join([
            "BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Larder//Test//EN", "BEGIN:VEVENT", f"UID:{name}",
            "DTSTAMP:20260101T000000Z", "DTSTART:20260102T100000Z", "DTEND:20260102T110000Z", "SUMMARY:Old",
            "LOCATION:Old", "END:VEVENT", "END:VCALENDAR", ""])

    def edited(self, text, field, value):
        name = {"title": "SUMMARY", "place": "LOCATION"}[field]
        return "\r\n".join(
            f"{name}:{value}" if line.startswith(name + ":") else line for line in text.splitlines()) + "\r\n"

    def field(self, text, field):
        name = {"title": "SUMMARY", "place": "LOCATION"}[field]
        return next(line.partition(":")[2] for line in text.splitlines() if line.startswith(name + ":"))


class Radicale(Calendar):
    """Rewrites each event that it stores."""

    def prepare(self):
        (self.folder / "rights").write_text("[all]\nuser = .*\ncollection = .*\npermissions = RrWw\n")
        (self.folder / "config").write_text("\n".join([
            "[server]", f"hosts = 127.0.0.1:{self.port}", "[auth]", "type = none", "[rights]", "type = from_file",
            f"file = {self.folder}/rights", "[storage]", f"filesystem_folder = {self.folder}/collections", ""]))

    def command(self):
        return [BINARIES / "radicale", "--config", self.folder / "config"]

    def create(self):
        for method, path in (("MKCOL", "/writer/"), ("MKCALENDAR", "/writer/calendar/")):
            status, answer, _ = self.request(method, path)
            assert status == 201, answer

    def path(self, name):
        return f"/writer/calendar/{name}.ics"


class Xandikos(Calendar):
    """Keeps the bytes of an event in a Git repository."""

    def command(self):
        return [
            BINARIES / "xandikos", "serve", "-d", self.folder / "calendars", "--defaults", "--listen-address",
            "127.0.0.1", "--port", str(self.port), "--state-dir", self.folder / "state"]

    def path(self, name):
        return f"/user/calendars/calendar/{name}.ics"


DOCUMENTS = [Kinto, Wsgidav, Apache]
CALENDARS = [Radicale, Xandikos]
