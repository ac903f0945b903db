"""The authors: each has a lane, and sends changes of the lane's resources to Larder."""

import json
import random
import time
from hashlib import md5
from http.client import HTTPConnection
from urllib.parse import urlsplit

import merging
from history import BLIND, Change, Intent
from larder import Away
from merging import ABSENT, dump, parse
from resources import kind

# The most changes of a lane that have not ended.
LANE_LIMIT = 6


class Author:
    """The author of one lane. `urls` are the resources; a lane with several resources has a label.

    The changes that an author sends are the model: a list in the order of their acknowledgement. One thread uses an
    author.
    """

    def __init__(self, name, urls, seed, driver):
        self.name = name
        self.urls = urls
        self.driver = driver
        self.choice = random.Random(f"{seed} author {name}")
        self.count = 0

    def run(self):
        while not self.driver.is_over:
            time.sleep(self.choice.expovariate(1.2))
            if self.driver.unended(self.name) < LANE_LIMIT:
                self.send(self.choice.choice(self.urls))
            elif self.choice.random() < 0.1:
                self.driver.decide_about_waiting(self.name, self.choice)

    def send(self, url):
        self.count += 1
        token = f"{self.name}-{self.count}"
        made = self.make(token, url)
        if made is None:
            return
        change, request = made
        request["url"] = url
        if kind(change.path) == "secret":
            request["credential"] = "origin"
        request["headers"] = {"Change": token}
        if len(self.urls) > 1:
            request["lane"] = self.name
        request["onConflict"] = change.on_conflict = self.choice.choice(["merge"] * 6 + ["hold", "ours", "theirs"])
        request["onUncertain"] = change.on_uncertain = self.choice.choice(["hold", "hold", "retry"])
        if self.choice.random() < 0.03:
            request["expires"] = 4
        # A key declares that the origin honours it, so a repetition of the request to Larder is safe, too.
        if self.choice.random() < 0.4:
            request["idempotencyKey"] = token
            change.is_keyed = True
        self.driver.submit(change, json.dumps(request))

    def make(self, token, url):
        """Returns a change and the members of its request; `None` if there is no sensible change now."""
        path = urlsplit(url).path
        if kind(path) == "items":
            item = {"item": token}
            return Change(token, self.name, path, "POST", [Intent(BLIND, item)]), {"method": "POST", "body": item}
        if kind(path) == "none" and self.choice.random() < 0.2:
            ours = {"id": path, "c0": token}
            change = Change(token, self.name, path, "PUT", [Intent(BLIND, ours)])
            return change, {"method": "PUT", "body": ours, "base": "blind"}
        seen = self.see(url, path)
        if seen is None:
            return None
        text, base = seen
        value = ABSENT if text is None else text if kind(path) == "text" else parse(text)
        if value is ABSENT:
            ours = token if kind(path) == "text" else {"id": path, "c0": token}
            request = {"method": "PUT", "base": "absent"}
        elif self.choice.random() < 0.04:
            return Change(token, self.name, path, "DELETE", [Intent(value, ABSENT)]), {"method": "DELETE", **base}
        elif kind(path) == "text":
            ours, request = token, {"method": "PUT", **base}
        else:
            return self.edit(token, path, value, base)
        request["text"] = dump(ours)
        return Change(token, self.name, path, "PUT", [Intent(value, ours)]), request

    def see(self, url, path):
        """Returns the text of the version that the author sees, and the members that name it as the base."""
        draw = self.choice.random()
        last = self.driver.last_body(self.name, path)
        if draw < 0.4 and last is not None:
            # The author goes on with its own body, although the origin may not have it yet.
            text = None if last is ABSENT else dump(last)
            return text, {"seen": {"text": text}}
        if draw < 0.6:
            found = self.driver.read_cache(url, md5(url.encode()).hexdigest())
            if found is not None:
                return found[0], {"base": found[1]}
        connection = HTTPConnection(urlsplit(url).netloc, timeout=30)
        connection.request("GET", path, headers={"Reader": self.name})
        response = connection.getresponse()
        text, tag = response.read().decode(), response.headers["ETag"]
        connection.close()
        if response.status == 404:
            return None, {}
        seen = {"text": text}
        if tag is not None and self.choice.random() < 0.7:
            seen["etag"] = tag
        return text, {"seen": seen}

    def edit(self, token, path, value, base):
        """Changes one or two members as a whole body, a merge patch or a JSON patch."""
        names = ["c0", "c1", "c2"] * 5 + ["shared", "r0"]
        patch, operations = {}, []
        for name in set(self.choice.sample(names, self.choice.choice((1, 1, 2)))):
            if name in value and self.choice.random() < 0.1:
                patch[name] = None
                operations.append({"op": "remove", "path": f"/{name}"})
            else:
                patch[name] = token
                operations.append({"op": "add", "path": f"/{name}", "value": token})
        if self.choice.random() < 0.3 and isinstance(value.get("nested"), dict):
            patch["nested"] = {"c3": token}
            operations.append({"op": "add", "path": "/nested/c3", "value": token})
        ours = merging.merge_patch(value, patch)
        form = self.choice.choice(("body", "merge", "json"))
        request = {"method": "PUT" if form == "body" else self.choice.choice(("PUT", "PATCH")), **base}
        if form == "body":
            request["text"] = dump(ours)
        else:
            request["patch"] = patch if form == "merge" else operations
        return Change(token, self.name, path, request["method"], [Intent(value, ours)]), request


class Submission:
    """One request to `POST /outbox`, repeated until its fate is known."""

    def __init__(self, larder, change, text):
        self.larder = larder
        self.change = change
        self.text = text

    def run(self, is_over):
        """Returns the status of the answer; `None` if the fate stays unknown."""
        while not is_over():
            try:
                status, answer = self.larder.call("POST", "/outbox", self.text)
            except Away:
                if not self.change.is_keyed:
                    return None
                time.sleep(0.2)
                continue
            if status == 202:
                self.change.id = answer["id"]
                self.change.is_acknowledged = True
            return status
        return None
