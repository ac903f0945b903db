"""Follows the steps of a document: check.py LARDER PLACE DOCUMENT

The steps run in the Linux namespaces of this process, with PLACE, an empty directory, as /tmp. Exits with 1 if the
result of a step differs from the document. CHECK_DOCS_HAS names the software for steps that need some.
"""

import os
import sys
from pathlib import Path

from document import steps
from outcome import differences
from session import Session
import world


def complaints(step, session):
    """Takes a step. Returns the differences of its result from the document; the list is empty if there are none."""
    if step.file:
        (session.place / step.file).write_text(step.commands)
        return []
    if step.is_terminal:
        session.open(step.commands)
        return []
    status, printed = session.type(step.commands)
    found = differences(step.prints, printed)
    return found if status == 0 else [f"it ended with {status}", *found]


def main(larder, place, name):
    """Takes the steps of a document in their order, up to the first step that fails. Returns the exit status."""
    plan = steps(Path(name).read_text())
    if not plan:
        print(f"{name}: it has nothing to type", file=sys.stderr)
        return 1
    at_hand = os.environ.get("CHECK_DOCS_HAS", "").split()
    missing = [step.needs for step in plan if step.needs and step.needs not in at_hand]
    plan = [step for step in plan if step.needs not in missing]
    scratch = Path("/tmp")
    session = Session(world.build(Path(place).resolve(), Path(larder).resolve()), scratch)
    try:
        for step in plan:
            try:
                found = complaints(step, session)
            except (OSError, RuntimeError) as error:
                found = [str(error)]
            if found:
                print(f"{name}:{step.line}:", step.commands, *found, sep="\n", file=sys.stderr)
                for number in range(len(session.terminals)):
                    log = (scratch / f"terminal-{number}").read_text(errors="replace")
                    print(f"terminal {number + 1} printed:", log, sep="\n", file=sys.stderr)
                return 1
    finally:
        session.close()
    print(f"{name}: {len(plan)} steps, each as it says")
    if missing:
        print(f"{name}: the steps for {', '.join(missing)} are left to scripts/check-clients")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
