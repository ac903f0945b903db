"""Tests the outbox against a scripted origin: run.py LARDER FOLDER MINUTES SEED

LARDER is the server's executable, and FOLDER keeps the log of the origin and the last lines of the server. See
`checker.py` for the invariants. Exits with 1 after a violation, and prints the history of the violated lane.
"""

import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from hashlib import md5
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from authors import Author, Submission
from checker import check
from history import Effect, History, Read
from larder import Away, Larder
from merging import parse
from resources import KINDS, kind
from steward import Ledger, Steward

HOSTS = 4
# The longest time for the changes that are left when faults and authors have stopped, in seconds.
PATIENCE = 180
# The violations with a printed history.
SHOWN = 3


class Driver:
    """One run: the origin, the server, the authors, and the kills."""

    def __init__(self, executable, folder, minutes, seed):
        self.folder = Path(folder)
        self.minutes = minutes
        self.seed = seed
        self.is_over = False
        self.kills = 0
        self.refusals = Counter()
        self.ledger = Ledger()
        paths = [f"/{name}/{number}" for name in KINDS for number in (1, 2)]
        shared = [["/strong/3", "/digest/3", "/items/3"], ["/second/3", "/items/4", "/strong/1"]]
        more = [path for lane in shared for path in lane if path not in paths]
        self.log = self.folder / "effects"
        self.origin = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("origin.py"), seed, self.log, str(HOSTS), *paths, *more],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ports = json.loads(self.origin.stdout.readline())
        urls = {
            path: f"http://127.0.0.1:{ports[place % HOSTS]}{path}" for place, path in enumerate([*paths, *more])}
        self.control = urlsplit(urls[paths[0]]).netloc
        self.larder = Larder(executable, folder, [f"127.0.0.1:{port}" for port in ports])
        self.secret_origins = sorted({urls[path].rpartition("/secret")[0] for path in paths if kind(path) == "secret"})
        self.steward = Steward(self.larder, self.ledger, self.credential, seed)
        self.steward.renew()
        self.urls = urls
        self.reads = []
        self.authors = [Author(path, [urls[path]], seed, self) for path in paths]
        self.authors += [
            Author(f"lane-{number}", [urls[path] for path in lane], seed, self) for number, lane in enumerate(shared)]

    # MARK: The services for authors

    def unended(self, lane):
        return len(self.ledger.unended(lane))

    def decide_about_waiting(self, lane, choice):
        self.steward.cancel_or_squash(lane, choice)

    def last_body(self, lane, path):
        """Returns the body of the last change that has not ended; `None` without one."""
        changes = [change for change in self.ledger.unended(lane) if change.path == path]
        return changes[-1].intents[-1].ours if changes else None

    def read_cache(self, url, key):
        """Returns the body that Larder's cache has, and its tag; `None` if it has none and cannot get it."""
        try:
            if self.larder.call("POST", "/download", {"url": url, "ttl": 2})[0] != 200:
                return None
            status, text, fields = self.larder.request("GET", f"/entries/{key}/content?view=remote")
        except Away:
            return None
        return (text, fields["ETag"]) if status == 200 else None

    def credential(self):
        secret = self.ask("GET", "/-/secret")["secret"]
        return {"origins": self.secret_origins, "headers": {"Authorization": secret}}

    def submit(self, change, text):
        self.ledger.add(change)
        status = Submission(self.larder, change, text).run(lambda: self.is_over)
        if status == 202:
            self.ledger.identify(change, change.id)
        elif status is None:
            self.ledger.doubt(change)
        else:
            self.ledger.remove(change)
            self.refusals[status] += 1
            # The cache can have another version by now. The other refusals are faults.
            if status not in (409, 503):
                self.ledger.problems.append(f"the request of {change.token} got {status}: {text}")

    # MARK: The run

    def run(self):
        threads = [threading.Thread(target=author.run, daemon=True) for author in self.authors]
        threads.append(threading.Thread(target=self.read, daemon=True))
        for thread in threads:
            thread.start()
        killer = random.Random(f"{self.seed} kills")
        end = time.monotonic() + 60 * self.minutes
        next_report = time.monotonic() + 60
        next_kill = time.monotonic() + killer.uniform(1, 10)
        while time.monotonic() < end:
            self.tend()
            time.sleep(0.2)
            if time.monotonic() > next_kill:
                self.larder.kill()
                self.kills += 1
                time.sleep(killer.uniform(0, 0.4))
                self.larder.start()
                next_kill = time.monotonic() + killer.uniform(0.5, 10)
            if time.monotonic() > next_report:
                next_report += 60
                self.report()
        self.is_over = True
        for thread in threads:
            thread.join(60)
        self.drain()
        self.report()

    def tend(self, at_once=False):
        try:
            self.steward.poll()
            self.steward.decide(at_once)
            if at_once:
                self.steward.hasten()
        except Away:
            pass

    def drain(self):
        """Ends faults, rival and kills, and waits for the end of all changes."""
        self.calm()
        self.larder.kill()
        self.larder.start()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            self.tend(at_once=True)
            if not any(change.id is not None for change in self.ledger.unended()):
                break
            time.sleep(0.3)
        self.larder.stop()

    def read(self):
        """Reads fresh versions from the cache, on a thread of its own."""
        choice = random.Random(f"{self.seed} reader")
        while not self.is_over:
            time.sleep(choice.expovariate(15))
            path = choice.choice(sorted(self.urls))
            count = len(self.ledger.done[path])
            try:
                status, text, _ = self.larder.request(
                    "GET", f"/entries/{md5(self.urls[path].encode()).hexdigest()}/content?view=remote")
            except Away:
                continue
            if status == 200:
                self.reads.append(Read(path, count, text if kind(path) == "text" else parse(text)))

    def calm(self):
        self.faults = self.ask("PUT", "/-/calm")["faults"]

    def ask(self, method, path):
        connection = HTTPConnection(self.control, timeout=30)
        connection.request(method, path)
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def report(self):
        with self.ledger.lock:
            changes = list(self.ledger.changes.values())
        states = Counter(change.state for change in changes if change.id is not None)
        shown = ", ".join(f"{state} {count}" for state, count in sorted(states.items(), key=str))
        acknowledged = sum(change.is_acknowledged for change in changes)
        effects = sum('"writer": "larder"' in line for line in self.log.open(encoding="utf-8"))
        print(
            f"sync: acknowledged {acknowledged} ({shown}), effects {effects}, kills {self.kills}, refused "
            f"{dict(self.refusals)}", flush=True)

    # MARK: The verdict

    def history(self):
        records = [json.loads(line) for line in self.log.open(encoding="utf-8")]
        # A change without an id was never stored, as far as Larder tells. An effect of it would be foreign.
        changes = [
            change for change in self.ledger.changes.values() if change.id is not None or change.is_acknowledged]
        return History(
            changes, [Effect.of(record) for record in records if record["effect"]],
            [record for record in records if not record["effect"]], self.reads, self.ledger.done)

    def judge(self):
        """Prints the findings. Returns whether there is no violation."""
        history = self.history()
        checker = check(history)
        rivals = sum(effect.writer == "rival" for effect in history.effects)
        conflicts = Counter(clash.problem for change in history.changes for clash in change.clashes)
        print(f"sync: rival edits {rivals}, reads {len(self.reads)}, conflicts {dict(conflicts)}")
        print(f"sync: faults {dict(self.faults)}")
        decisions = Counter(decision for change in history.changes for decision in change.decisions)
        print(f"sync: decisions {dict(decisions)}")
        print(f"sync: without a sound precondition: {dict(checker.unguarded)}")
        if any("secret-" in line for line in self.larder.log):
            self.ledger.problems.append("the server's log has a secret")
        for problem in self.ledger.problems:
            print(f"sync: problem: {problem}")
        for violation in checker.violations:
            print(f"sync: violation: {violation}")
        for violation in checker.violations[:SHOWN]:
            print(f"sync: the history of the lane {violation.lane} around {violation.token}:")
            print("\n".join(history.lane(violation.lane, violation.token)))
        count = len(checker.violations) + len(self.ledger.problems)
        print(f"sync: {count} violations, {len(history.changes)} changes, seed {self.seed}")
        return count == 0

    def close(self):
        (self.folder / "larder.log").write_text("".join(self.larder.log), encoding="utf-8")
        self.origin.stdin.close()
        self.origin.wait(10)


def main(executable, folder, minutes, seed):
    print(f"sync: seed {seed}", flush=True)
    driver = Driver(executable, folder, float(minutes), seed)
    try:
        driver.run()
        is_good = driver.judge()
    finally:
        driver.close()
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
