"""Checks a history against the promise of the outbox.

- An acknowledged change ends, and its final state tells the truth about its effect.
- A write of Larder is the three-way merge of a base, an author's body and the present version, so it overwrites no
  other edit. The check of each single write covers all of them, because the log has each version of each resource.
- A change has at most one effect.
- The effects of a lane have the order of its changes, and a held change stops its lane.
- A conflict is real.
- A reader of the cache gets no fresh version that is older than the effect of a change that is done.

Where the origin offers no sound precondition, a lost edit or a second effect is counted, but is no violation.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import accumulate

import merging
from history import BLIND
from merging import ABSENT, differences

ENDED = ("done", "cancelled", "expired")
HELD = ("uncertain", "conflict", "blocked", "rejected")


@dataclass(frozen=True)
class Violation:
    kind: str
    lane: str
    text: str
    token: str | None = None

    def __str__(self):
        return f"{self.kind} in lane {self.lane}: {self.text}"


class Checker:
    """Checks one history. `violations` and `unguarded` have the findings."""

    def __init__(self, history):
        self.history = history
        self.violations = []
        self.unguarded = Counter()
        self.changes = {change.token: change for change in history.changes}
        self.effects = defaultdict(list)
        # The versions of each resource with the number of the effect that made them.
        self.versions = defaultdict(lambda: [(0, ABSENT)])
        # The last effect of each resource.
        self.last = {}
        self._check_writes()
        for change in history.changes:
            self._check_change(change)
        self._check_order()
        self._check_reads()

    def _report(self, kind, change, text):
        if change is None:
            self.violations.append(Violation(kind, "-", text))
        else:
            self.violations.append(Violation(kind, change.lane, text, change.token))

    # MARK: Each write

    def _check_writes(self):
        for effect in self.history.effects:
            before, last = self.versions[effect.path][-1][1], self.last.get(effect.path)
            self.versions[effect.path].append((effect.number, effect.stored))
            self.last[effect.path] = effect
            if effect.writer != "larder":
                continue
            change = self.changes.get(effect.change)
            if change is None:
                self._report("foreign effect", None, f"no author has sent the change of {effect}")
                continue
            self.effects[change.token].append(effect)
            if change.path != effect.path:
                self._report("foreign effect", change, f"{change.token} edits {change.path}, but wrote {effect.path}")
            elif change.method != "POST":
                self._check_write(change, effect, before, last)
            elif all(intent.ours != effect.result for intent in change.intents):
                self._report("foreign effect", change, f"the body of {change.token} is not its own: {effect.result}")

    def _check_write(self, change, effect, before, last):
        if change.is_guarded and effect.precondition not in ("If-Match", "If-None-Match"):
            self._report("no precondition", change, f"{change.token} was sent without one, effect {effect.number}")
        reasons = [self._fault(change, intent, effect, before) for intent in change.intents]
        if None in reasons:
            return
        for intent in change.intents:
            # The origin has rewritten the base while it stored it, and no other writer came after. The author has seen
            # the base, so the version counts as the base.
            if last.result == intent.base:
                if effect.result == intent.ours:
                    self.unguarded["undone rewritings"] += 1
                    return
                if effect.result == merging.merge(intent.base, intent.ours, before, prefers_ours=True):
                    return
        reason = reasons[-1]
        if change.is_guarded:
            self._report("lost edit", change, f"{change.token}, effect {effect.number}: {reason}")
        else:
            self.unguarded["lost edits"] += 1

    @staticmethod
    def _fault(change, intent, effect, before):
        """Returns the reason why a write is not the effect of an intent on the version before it; `None` if it is."""
        is_ours = effect.result == intent.ours
        if intent.base == BLIND:
            return None if is_ours else f"expected {intent.ours}, the origin got {effect.result}"
        if intent.base == before and is_ours:
            return None
        if change.on_conflict == "hold":
            return f"the version is not the base, and onConflict is hold: {differences(intent.base, before)}"
        try:
            wins = before is not ABSENT and change.on_conflict == "ours"
            expected = merging.merge(intent.base, intent.ours, before, prefers_ours=wins)
        except merging.Clash as clash:
            return f"both sides have changed {clash}: base {intent.base}, ours {intent.ours}, theirs {before}"
        if expected == effect.result:
            return None
        return f"the merge has other values: {differences(expected, effect.result)}"

    # MARK: Each change

    def _check_change(self, change):
        if change.final is None:
            if change.is_acknowledged:
                self._report("lost change", change, f"{change.token} was acknowledged, and Larder does not know it")
            return
        effects = self.effects[change.token]
        self._check_end(change, effects)
        self._check_repetition(change, effects)
        for clash in change.clashes:
            self._check_clash(change, clash)

    def _check_end(self, change, effects):
        state = change.state
        if state not in ENDED and state not in HELD:
            self._report("no end", change, f"{change.token} is still {state}")
        elif state == "done":
            if not effects and not self._is_superfluous(change):
                self._report("lost edit", change, f"{change.token} is done without an effect")
        elif effects and not change.final["mayBeApplied"]:
            self._report("denied effect", change, f"{change.token} is {state} and denies effect {effects[0].number}")

    def _is_superfluous(self, change):
        """Whether a version of the resource had the edit without a write of the change."""
        if change.method == "POST":
            return False
        for _, version in self.versions[change.path]:
            for intent in change.intents:
                if intent.base == BLIND or version == intent.ours:
                    if version == intent.ours:
                        return True
                elif version is not ABSENT and intent.ours is not ABSENT:
                    if not merging.clashes(intent.base, intent.ours, version):
                        if merging.merge(intent.base, intent.ours, version) == version:
                            return True
        return False

    def _check_repetition(self, change, effects):
        for first, second in zip(effects, effects[1:]):
            if change.may_repeat:
                self.unguarded["accepted repetitions"] += 1
            elif change.method != "POST" and not change.is_guarded:
                self.unguarded["second effects"] += 1
            elif not self._is_new_occasion(change, first, second):
                self._report(
                    "double effect", change, f"{change.token} has the effects {first.number} and {second.number}")

    def _is_new_occasion(self, change, first, second):
        """Whether the state of the resource calls for a second effect.

        A rival has overwritten the first, and onConflict is ours. Or a rival has undone the first, so that the version
        equals the base again, which no precondition tells from the base.
        """
        if change.method == "POST":
            return False
        versions = [value for number, value in self.versions[change.path] if first.number < number < second.number]
        if not versions:
            return False
        intent = change.intents[0]
        if versions[-1] == intent.base:
            self.unguarded["undone by a rival"] += 1
            return True
        return change.on_conflict == "ours" and merging.clashes(intent.base, intent.ours, versions[-1])

    def _check_clash(self, change, clash):
        if clash.problem != "clash":
            return
        if change.on_conflict == "hold":
            is_real = clash.theirs != clash.seen and clash.theirs != clash.ours
        elif clash.ours is ABSENT:
            is_real = clash.theirs != clash.seen
        else:
            is_real = merging.clashes(clash.seen, clash.ours, clash.theirs)
        if not is_real:
            self._report("needless conflict", change, f"{change.token}: {clash}")

    # MARK: Each lane

    def _check_order(self):
        lanes = defaultdict(list)
        for change in self.history.changes:
            if change.id is not None:
                lanes[change.lane].append(change)
        for changes in lanes.values():
            changes.sort(key=lambda change: change.id)
            last = None
            for change in changes:
                effects = self.effects[change.token]
                if last and effects and effects[0].number < last[1].number:
                    self._out_of_order(last[0], change)
                if effects and (last is None or effects[-1].number > last[1].number):
                    last = change, effects[-1]
            self._check_held(changes)

    def _out_of_order(self, earlier, later):
        # The first request of a cancelled change, or of a POST with an unknown outcome, can arrive late.
        is_sure = earlier.state == "done" and not (earlier.method == "POST" and earlier.decisions)
        is_guarded = earlier.is_guarded or earlier.method == "POST" and earlier.on_uncertain == "hold"
        if is_sure and is_guarded:
            self._report("wrong order", later, f"{later.token} took effect before the end of {earlier.token}")
        else:
            self.unguarded["out of order"] += 1

    def _check_held(self, changes):
        for place, change in enumerate(changes):
            for start, end in change.held:
                for later in changes[place + 1:]:
                    for effect in self.effects[later.token]:
                        if start < effect.time < end:
                            self._report(
                                "wrong order", later, f"{later.token} took effect while {change.token} was held")


    # MARK: Each read

    def _check_reads(self):
        # The number of the latest effect of the first done changes of a resource. A second effect of a change may come
        # from a request that has arrived late, when the change was done.
        floors = {}
        for path, tokens in self.history.done.items():
            numbers = (min((effect.number for effect in self.effects[token]), default=0) for token in tokens)
            floors[path] = [0, *accumulate(numbers, max)]
        for read in self.history.reads:
            floor = floors[read.path][read.count] if read.path in floors else 0
            versions = self.versions[read.path]
            start = bisect_left(versions, floor, key=lambda version: version[0])
            if all(version != read.value for _, version in versions[start:]):
                token = self.history.done[read.path][read.count - 1] if read.count else None
                self._report(
                    "stale read", self.changes.get(token),
                    f"a reader of {read.path} got a version before effect {floor}: {read.value}")


def check(history):
    """Returns the checker of a history, with its findings."""
    return Checker(history)
