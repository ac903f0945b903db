"""The steward: looks at the states of all changes, and decides about changes that wait for a decision."""

import json
import random
import threading
import time
from collections import defaultdict
from datetime import datetime

import merging
from checker import ENDED, HELD
from history import BLIND, Clash, Intent
from larder import Away
from merging import ABSENT, dump, parse
from resources import kind

DECISIONS = {
    "conflict": ["ours"] * 6 + ["theirs"] * 6 + ["body"] * 5 + ["cancel"] * 2 + ["retry"],
    "uncertain": ["ours", "theirs", "cancel", "retry"],
    "rejected": ["ours", "cancel", "retry", "retry"],
    "blocked": ["credential"] * 9 + ["cancel"],
}


STRICTEST_FIRST = ["hold", "merge", "ours", "theirs"]


def squash(first, last):
    """Returns the intent of the change that two changes become. Raises `Clash` if Larder must refuse to make it.

    A squash changes neither the view nor the end at the origin, whichever version the origin has.
    """
    (earlier,), (later,) = first.intents, last.intents
    if BLIND in (earlier.base, later.base):
        if earlier.base != later.base:
            raise merging.Clash("the preconditions")
        return later
    if earlier.base is ABSENT and later.ours is ABSENT:
        raise merging.Clash("a creation and a deletion")
    if "theirs" in (first.on_conflict, last.on_conflict):
        raise merging.Clash("the policy theirs")
    if earlier.ours is ABSENT and later.ours is not ABSENT:
        raise merging.Clash("a deletion and a creation")
    if later.ours is not ABSENT and merging.is_lost(earlier.base, later.base, later.ours):
        raise merging.Clash("an edit that takes back another one")
    ours = merging.merge(later.base, later.ours, earlier.ours)
    if last.on_conflict == "hold" and earlier.ours not in (later.base, ours):
        raise merging.Clash("the policy hold")
    return Intent(earlier.base, ours)


class Ledger:
    """All changes of a run. `lock` guards the members; the changes in it are changed under the lock only."""

    def __init__(self):
        self.lock = threading.RLock()
        self.changes = {}
        # The changes that have not ended, as far as the steward knows.
        self._open = {}
        self.by_id = {}
        self.highest = 0
        self.problems = []
        # The changes of each resource that Larder has called done, in the order in which the steward has learned it.
        self.done = defaultdict(list)

    def add(self, change):
        with self.lock:
            self.changes[change.token] = self._open[change.token] = change

    def remove(self, change):
        with self.lock:
            self.changes.pop(change.token, None)
            self._open.pop(change.token, None)

    def doubt(self, change):
        """Notes that Larder may have the change or not. A poll that finds the change identifies it."""
        with self.lock:
            if change.id is None:
                self._open.pop(change.token, None)

    def update(self, change, summary):
        """Notes the state that Larder has shown."""
        with self.lock:
            if summary["state"] == "done" != change.state:
                self.done[change.path].append(change.token)
            change.final = summary
            self.highest = max(self.highest, change.id)
            if change.state in ENDED:
                self._open.pop(change.token, None)

    def identify(self, change, id):
        with self.lock:
            if change.id not in (None, id):
                self.problems.append(f"{change.token} has the ids {change.id} and {id}")
            change.id = id
            self.by_id[id] = change
            # The steward may have seen the end of the change before its author has got the answer.
            if change.state not in ENDED:
                self._open[change.token] = change

    def unended(self, lane=None):
        """Returns the changes that Larder may still work on, in the order of their ids."""
        with self.lock:
            changes = [change for change in self._open.values() if lane is None or change.lane == lane]
            return sorted(changes, key=lambda change: change.id or 0)


class Steward:
    """Polls and decides on one thread; other threads decide through the steward's methods.

    `credential` returns the body of `PUT /credentials/origin` with the present secret of the origin.
    """

    def __init__(self, larder, ledger, credential, seed):
        self.larder = larder
        self.ledger = ledger
        self.credential = credential
        self.seed = seed
        # No state may be read while a decision changes it.
        self.lock = threading.RLock()
        self._since = {}
        self._due = {}

    # MARK: States

    def poll(self):
        """Reads the states of all changes that have not ended. Raises `Away`."""
        with self.lock:
            known = [change for change in self.ledger.unended() if change.id is not None]
            after = min([change.id for change in known] + [self.ledger.highest + 1]) - 1
            found = set()
            while after is not None:
                status, page = self.larder.call("GET", "/outbox", query={"limit": 1000, "cursor": after})
                if status != 200:
                    raise Away
                for summary in page["changes"]:
                    found.add(summary["id"])
                    self._note(summary)
                after = page.get("nextCursor")
            for change in known:
                if change.id not in found:
                    self.ledger.problems.append(f"{change.token} (id {change.id}) was {change.state}, and is gone")
                    change.final = None

    def _note(self, summary):
        now = time.time()
        id = summary["id"]
        change = self.ledger.by_id.get(id) or self._identify(id)
        if change is None:
            return
        self.ledger.update(change, summary)
        if summary["state"] in HELD:
            self._since.setdefault(change.token, now)
            self._due.setdefault(change.token, now + self._choice(change).uniform(0, 4))

    def _identify(self, id):
        status, detail = self.larder.call("GET", f"/outbox/{id}")
        change = self.ledger.changes.get(detail["headers"]["Change"]) if status == 200 else None
        if change is None:
            self.ledger.problems.append(f"no author has sent the change {id}: {detail}")
            return None
        self.ledger.identify(change, id)
        return change

    def _choice(self, change):
        return random.Random(f"{self.seed} decision {change.token} {len(change.decisions)}")

    # MARK: Decisions

    def decide(self, at_once=False):
        """Decides about the held changes that are due. Raises `Away`."""
        for change in self.ledger.unended():
            if change.state in HELD and (at_once or self._due.get(change.token, 0) <= time.time()):
                self._decide(change)

    def _decide(self, change):
        with self.lock:
            status, detail = self.larder.call("GET", f"/outbox/{change.id}")
            if status != 200 or detail["state"] != change.state:
                return
            base, ours, theirs = self._versions(change, detail)
            problem = detail["problem"]["kind"]
            decision = self._choice(change).choice(DECISIONS[change.state])
            if decision == "body" and (ABSENT in (ours, theirs) or change.method == "POST"):
                decision = "ours"
            if change.state == "conflict" and (not change.clashes or change.clashes[-1].theirs != theirs):
                change.clashes.append(Clash(problem, base, ours, theirs))
            if decision == "credential":
                return self.renew()
            request = None
            if decision in ("ours", "theirs", "body"):
                request = {"take": decision}
            if decision == "body":
                ours = self._union(base, ours, theirs)
                request["text"] = dump(ours)
            if decision == "ours" and base != BLIND and ABSENT not in (ours, theirs):
                ours = merging.merge(base, ours, theirs, prefers_ours=True)
            if decision in ("ours", "body") and change.method != "POST":
                if problem in ("validatorRefused", "unreadable"):
                    base = BLIND
                elif problem in ("clash", "stateRefused") and detail["theirs"] is not None:
                    base = theirs
                elif problem in ("deleted", "stateRefused") and ours is not ABSENT:
                    base = ABSENT
                change.intents.append(Intent(base, ours))
                if self._send(change, decision, request) != 200:
                    # Another decision, or the end of the change, came first.
                    change.intents.pop()
                return
            self._send(change, decision, request)

    def renew(self):
        """Gives Larder the present secret, so blocked changes go on. Raises `Away`."""
        with self.lock:
            for change in self.ledger.unended():
                if change.state == "blocked":
                    self._release(change)
                    change.decisions.append("credential")
            status, answer = self.larder.call("PUT", "/credentials/origin", self.credential())
            if status != 200:
                self.ledger.problems.append(f"the credential got {status}: {answer}")

    def _versions(self, change, detail):
        def body(version):
            if version is None:
                return ABSENT
            return version["text"] if kind(change.path) == "text" else parse(version["text"])

        base = BLIND if detail["base"] == "blind" else body(detail["seen"])
        return base, body(detail["ours"]), body(detail["theirs"])

    @staticmethod
    def _union(base, ours, theirs):
        """Returns theirs with all edits of ours, the decision of a person for both sides."""
        if not isinstance(theirs, dict) or not isinstance(ours, dict):
            return f"{ours} and {theirs}"
        result = json.loads(dump(theirs), parse_float=merging.Decimal)
        base = base if isinstance(base, dict) else {}
        for name, value in ours.items():
            if value != base.get(name, ABSENT):
                result[name] = value
        return result

    def _send(self, change, decision, request):
        """Makes a decision known to Larder. Returns the status of the answer. Raises `Away`."""
        self._release(change)
        change.decisions.append(decision)
        if decision == "cancel":
            status, answer = self.larder.call("DELETE", f"/outbox/{change.id}")
        elif decision == "retry":
            status, answer = self.larder.call("POST", f"/outbox/{change.id}/retry")
        else:
            status, answer = self.larder.call("POST", f"/outbox/{change.id}/resolve", request)
        if status == 409:
            change.decisions[-1] += " refused"
        elif status != 200:
            self.ledger.problems.append(f"{decision} of {change.token} got {status}: {answer}")
        return status

    def _release(self, change):
        """Ends the span in which a change was held, before Larder gets the decision."""
        since = self._since.pop(change.token, None)
        self._due.pop(change.token, None)
        if since is not None:
            change.held.append((since, time.time()))

    def cancel_or_squash(self, lane, choice):
        """Cancels a waiting change of a lane, or makes one of the last two."""
        with self.lock:
            waiting = [change for change in self.ledger.unended(lane) if change.state == "pending"]
            try:
                if len(waiting) > 1 and choice.random() < 0.5:
                    self._squash(*waiting[-2:])
                elif waiting:
                    self._send(choice.choice(waiting), "cancel", None)
            except Away:
                pass

    def _squash(self, first, last):
        if first.path != last.path or "POST" in (first.method, last.method):
            return
        if max(len(first.intents), len(last.intents)) > 1:
            return
        intents = last.intents
        try:
            squashed = squash(first, last)
        except merging.Clash:
            squashed = None
        # Until Larder answers, the change may have the one intent or the other.
        last.intents = intents + [squashed] if squashed else intents
        for change in (first, last):
            change.decisions.append("squash")
        status, answer = self.larder.call("POST", "/outbox/squash", {"changes": [first.id, last.id]})
        if status == 200 and squashed:
            # The survivor must have the edits of both, so its former intent is none any more.
            last.intents = [squashed]
            last.on_conflict = min(first.on_conflict, last.on_conflict, key=STRICTEST_FIRST.index)
            return
        last.intents = intents
        for change in (first, last):
            change.decisions[-1] += " refused"
        if status not in (409, 422):
            self.ledger.problems.append(f"squash of {first.token} and {last.token} got {status}: {answer}")

    def hasten(self):
        """Ends the pauses of waiting changes. Raises `Away`."""
        for change in self.ledger.unended():
            date = (change.final or {}).get("nextAttemptDate")
            if change.state == "pending" and date and self._seconds(date) - time.time() > 2:
                with self.lock:
                    self._send(change, "retry", None)

    @staticmethod
    def _seconds(date):
        return datetime.fromisoformat(date.replace("Z", "+00:00")).timestamp()
