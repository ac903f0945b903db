"""The history of a run: the changes of the authors, and the effects that the origin has logged."""

from dataclasses import dataclass, field

from merging import ABSENT, parse
from resources import UNGUARDED, kind

BLIND = "blind"


@dataclass
class Intent:
    """A body that an author wants instead of a base. `ours` is `ABSENT` for a DELETE."""

    base: object
    ours: object


@dataclass
class Change:
    """A change that an author has sent to Larder.

    `held` has the spans of time in which the driver has seen the change wait for a decision, and `clashes` the versions
    that Larder has shown for each conflict. `final` is the last answer of Larder about the change; `None` if Larder
    has never shown it.
    """

    token: str
    lane: str
    path: str
    method: str
    intents: list
    on_conflict: str = "merge"
    on_uncertain: str = "hold"
    is_keyed: bool = False
    is_acknowledged: bool = False
    id: int | None = None
    decisions: list = field(default_factory=list)
    held: list = field(default_factory=list)
    clashes: list = field(default_factory=list)
    final: dict | None = None

    @property
    def state(self):
        return self.final["state"] if self.final else None

    @property
    def is_guarded(self):
        """Whether the origin offers a sound precondition for each request of the change."""
        return kind(self.path) not in UNGUARDED and all(intent.base != BLIND for intent in self.intents)

    @property
    def may_repeat(self):
        """Whether the author, or a decision, accepts a second effect."""
        if self.method == "POST":
            return not self.is_keyed and (
                self.on_uncertain == "retry" or any(d in ("retry", "ours") for d in self.decisions))
        return any(decision in ("ours", "body") for decision in self.decisions)


@dataclass(frozen=True)
class Clash:
    """A conflict as Larder has shown it."""

    problem: str
    seen: object
    ours: object
    theirs: object


@dataclass(frozen=True)
class Effect:
    """A write that the origin has performed. `result` is the body of the request, `stored` the body that came of it."""

    number: int
    time: float
    writer: str
    path: str
    method: str
    result: object
    stored: object
    change: str | None = None
    precondition: str | None = None

    @classmethod
    def of(cls, record):
        """Makes an effect of a line of the log."""
        is_text = kind(record["path"]) == "text"

        def value(text):
            if text is None:
                return ABSENT
            return text if is_text else parse(text)

        return cls(
            record["number"], record["time"], record["writer"], record["path"], record["method"],
            value(record["result"]), value(record["stored"]), record.get("change"), record.get("precondition"))


@dataclass(frozen=True)
class Read:
    """A fresh version that a reader of the cache has got, when the first `count` of the done changes were done."""

    path: str
    count: int
    value: object


@dataclass
class History:
    """`requests` are the other lines of the log. `done` lists the tokens of the done changes of each resource."""

    changes: list
    effects: list
    requests: list = field(default_factory=list)
    reads: list = field(default_factory=list)
    done: dict = field(default_factory=dict)

    def lane(self, name, token=None, span=6):
        """Returns the lines that tell the story of a lane: its changes, and then the log.

        With `token`, the story is that of this change and its `span` neighbours on both sides.
        """
        changes = sorted(
            (change for change in self.changes if change.lane == name), key=lambda change: change.id or 0)
        places = [place for place, change in enumerate(changes) if change.token == token]
        if places:
            changes = changes[max(places[0] - span, 0):places[0] + span + 1]
        tokens = {change.token for change in changes}
        lines = []
        for change in changes:
            final = change.final or {}
            lines.append(
                f"change {change.token} (id {change.id}) {change.method} {change.path} {change.on_conflict}/"
                f"{change.on_uncertain}{' keyed' if change.is_keyed else ''}: {change.state}, problem "
                f"{final.get('problem')}, attempts {final.get('attempts')}, mayBeApplied {final.get('mayBeApplied')}, "
                f"decisions {change.decisions}")
            lines += [f"    base {intent.base}\n    ours {intent.ours}" for intent in change.intents]
        paths = {change.path for change in changes}
        log = [(e.number, self._line(e)) for e in self.effects if e.path in paths]
        log += [
            (r["number"], f"{r['time']:.3f} {r['method']} {r['path']} {r['status']} fault {r['fault']} "
             f"change {r['change']}")
            for r in self.requests if r["path"] in paths and (r["change"] is None or r["change"] in tokens)]
        if places:
            known = [r["number"] for r in self.requests if r["change"] in tokens]
            known += [e.number for e in self.effects if e.change in tokens]
            log = [(number, line) for number, line in log if known and min(known) <= number <= max(known)]
        return lines + [f"{number:6} {line}" for number, line in sorted(log)]

    @staticmethod
    def _line(effect):
        return (
            f"{effect.time:.3f} EFFECT {effect.writer} {effect.method} {effect.path} change {effect.change} "
            f"{effect.precondition}: {effect.result}")
