"""The resources of the scripted origin: their bodies, entity tags and preconditions.

The first folder of a path names the kind of the resource:

- `/strong`: an opaque strong tag, and no `Last-Modified`.
- `/digest`: the tag is a digest of the body.
- `/second`: tag and `Last-Modified` have the resolution of a second, so versions within one second share a tag.
- `/weak`: the tag is weak within the first second, and then strong, as Apache's.
- `/rewrite`: the origin writes a member of its own into the body, and another layout; the tag is a digest.
- `/text`: a plain text with an opaque strong tag.
- `/secret`: as `/strong`, but only for requests with the present secret, which changes now and then.
- `/none`: no tag, so a write is unguarded.
- `/items`: a collection; POST adds an item.
"""

import hashlib
import json
import threading
import time
from email.utils import formatdate

from merging import dump, json_patch, merge_patch, parse

KINDS = ("strong", "digest", "second", "weak", "rewrite", "text", "secret", "none", "items")
UNGUARDED = ("none", "items")


def kind(url):
    """Returns the kind of a resource from its URL or path."""
    return url.split("://")[-1].partition("/")[2].partition("/")[0] if "://" in url else url.split("/")[1]


class Refused(Exception):
    """A request without an effect. `status` is the status of the answer."""

    def __init__(self, status):
        super().__init__(status)
        self.status = status


class Resource:
    """A resource with its present version. `body` is a text; `None`: the resource is absent."""

    def __init__(self, path, body):
        self.kind = kind(path)
        self.version = 0
        self.body = None
        self.items = []
        self.store(body)

    @property
    def value(self):
        return self.body if self.kind == "text" and self.body is not None else parse(self.body)

    def store(self, body):
        """Stores a body, perhaps rewritten; `None` deletes the resource."""
        self.version += 1
        self.modified = time.time()
        if body is not None and self.kind == "rewrite":
            value = parse(body)
            body = dump({**value, "revision": self.version}, gap=" ")
        self.body = body

    def tag(self):
        """Returns the entity tag; `None` without one."""
        if self.kind == "none":
            return None
        if self.kind in ("digest", "rewrite"):
            return f'"{hashlib.sha256(self.body.encode()).hexdigest()}"'
        if self.kind == "second":
            return f'"{int(self.modified)}"'
        tag = f'"{self.version}-{int(self.modified * 1e6):x}"'
        return f"W/{tag}" if self.kind == "weak" and time.time() - self.modified < 1 else tag

    def fields(self):
        """Returns the fields of the present version."""
        fields = {"Content-Type": "text/plain" if self.kind == "text" else "application/json"}
        if self.tag() is not None:
            fields["ETag"] = self.tag()
        if self.kind in ("second", "weak"):
            fields["Last-Modified"] = formatdate(int(self.modified), usegmt=True)
        return fields

    def check(self, fields):
        """Raises `Refused` if a precondition fails (RFC 9110 §13.1). Returns the name of the precondition."""
        wanted = fields.get("If-Match")
        if wanted is not None:
            if self.body is None or self.tag() is None or wanted.startswith("W/") or wanted != self.tag():
                raise Refused(412)
            return "If-Match"
        if fields.get("If-None-Match") == "*":
            if self.body is not None:
                raise Refused(412)
            return "If-None-Match"
        return None

    def result(self, method, body, type):
        """Returns the body that a request leads to, before the origin rewrites it; `None` for a deletion."""
        if method == "PUT":
            return body
        if self.body is None:
            raise Refused(404)
        if method == "DELETE":
            return None
        try:
            if type == "application/merge-patch+json":
                return dump(merge_patch(self.value, parse(body)))
            if type == "application/json-patch+json":
                return dump(json_patch(self.value, parse(body)))
        except ValueError as error:
            raise Refused(422) from error
        raise Refused(415)


class EffectLog:
    """The effects and requests, one JSON object a line, in the order in which they happened."""

    def __init__(self, path):
        self._file = open(path, "a", encoding="utf-8")
        self._lock = threading.Lock()
        self.count = 0

    def add(self, **record):
        with self._lock:
            self.count += 1
            self._file.write(json.dumps({"number": self.count, "time": time.time(), **record}) + "\n")
            self._file.flush()
