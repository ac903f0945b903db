"""The calls of the outbox, for a resource behind a proxy."""

import os
import time

from larder import Larder

# The back-off after a few failures, and the time in which a tag becomes sound, on a slow machine.
PATIENCE = 180


class Outbox:
    """A server with an outbox, which may reach the proxy only."""

    def __init__(self, folder, proxy, secrets=None):
        self.proxy = proxy
        self.larder = Larder(os.environ["LARDER"], folder, [proxy.authority])
        self.credential = None
        if secrets:
            self.credential = "writer"
            status, answer = self.larder.call(
                "PUT", "/credentials/writer", {"origins": [f"http://{proxy.authority}"], "headers": secrets})
            assert status == 200, answer

    def send(self, path, **members):
        """Sends a change, and returns its id when it is acknowledged."""
        if self.credential:
            members["credential"] = self.credential
        status, answer = self.larder.call("POST", "/outbox", {"url": self.proxy.url(path), **members})
        assert status == 202, answer
        return answer["id"]

    def put(self, path, text, seen, type, **members):
        """Sends a whole body, made on the body that the author saw; on no resource if that is `None`."""
        base = {"base": "absent"} if seen is None else {"seen": {"text": seen}}
        return self.send(path, text=text, headers={"Content-Type": type}, **base, **members)

    def get(self, id):
        status, change = self.larder.call("GET", f"/outbox/{id}")
        assert status == 200, change
        return change

    def wait(self, id, *states):
        """Waits until a change has one of the states, or has ended in another one. Returns the change."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            change = self.get(id)
            if change["state"] in states:
                return change
            assert change["state"] in ("pending", "sending", "confirmed"), change
            time.sleep(0.05)
        raise AssertionError(f"the change is not {states} after {PATIENCE} s: {self.get(id)}")

    def resolve(self, id, **resolution):
        status, answer = self.larder.call("POST", f"/outbox/{id}/resolve", resolution)
        assert status == 200, answer
