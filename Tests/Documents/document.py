"""What a document has its reader type, and what it says that this prints."""

import re
from dataclasses import dataclass

FENCE = re.compile(r"^```(.*)$")


@dataclass
class Step:
    """One block of commands."""

    line: int
    """Where the first of them stands, counted from 1."""
    commands: str
    is_terminal: bool = False
    """Whether it goes on, in a terminal of its own."""
    prints: str = ""
    """What it says that they print: nothing, where it says nothing."""


def steps(text):
    """The steps of a Markdown document, in order.

    A block of `sh` is to be typed. A block of anything else that follows it, with nothing but empty lines between, is
    what that prints. What goes on, as a server does, is a block of `sh terminal`; what is only there to be read is one of
    `sh no-run`.
    """
    found = []
    block = None
    # The step that the next block may show the output of.
    waiting = None
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if block is None:
            if fence:
                info = fence.group(1).strip()
                block = (info, number + 1, [])
            elif line.strip():
                waiting = None
            continue
        info, start, lines = block
        if fence is None:
            lines.append(line)
            continue
        block = None
        content = "".join(f"{line}\n" for line in lines)
        if info in ("sh", "sh terminal"):
            step = Step(start, content, is_terminal=info == "sh terminal")
            found.append(step)
            waiting = None if step.is_terminal else step
        elif waiting is not None and info != "sh no-run":
            waiting.prints = content
            waiting = None
        else:
            waiting = None
    if block is not None:
        raise ValueError(f"line {block[1]}: the block is not closed")
    return found
