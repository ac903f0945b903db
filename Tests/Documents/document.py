"""The commands that a document tells its reader to type, and the output that it shows."""

import re
from dataclasses import dataclass

FENCE = re.compile(r"^```(.*)$")
OPTION = re.compile(r"^\w+ (needs|file)=(\S+)$")


@dataclass
class Step:
    """A block of commands, or a file that the reader saves."""

    line: int
    """The line of the first command, counted from 1."""
    commands: str
    """The commands, or the content of the file."""
    file: str = ""
    """The name of the file. Empty for commands."""
    needs: str = ""
    """The software that the commands need beside the packages of scripts/bootstrap. Empty if they need none."""
    is_terminal: bool = False
    """Whether the commands keep running, in a terminal of their own."""
    prints: str = ""
    """The output that the document shows for the commands. Empty if the document shows none."""


def steps(text):
    """Returns the steps of a Markdown document, in order. Raises `ValueError` for an open block.

    A block of `sh` is typed. A block of another kind behind it, with only empty lines between them, is its output. A
    block of `sh terminal` keeps running, as a server does. A block of `sh needs=NAME` is typed only where NAME is at
    hand. A block of `sh no-run` is only read. A block of `LANGUAGE file=NAME` is saved as a file.
    """
    found = []
    block = None
    # The step to which the next block may be the output.
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
        found_option = OPTION.match(info)
        option, value = found_option.groups() if found_option else (None, "")
        if option == "file":
            found.append(Step(start, content, file=value))
            waiting = None
        elif option == "needs" or info in ("sh", "sh terminal"):
            step = Step(start, content, needs=value, is_terminal=info == "sh terminal")
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
