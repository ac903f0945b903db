"""The comparison of printed output with a document, without the parts that change on each run."""

import difflib
import re

# The parts that change on each run, and their replacements.
VARIABLE = [
    # Only the looks: curl prints some text in bold on a terminal.
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), "<instant>"),
    (re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"), "<date>"),
    (re.compile(r"\bPython/3\.\d+\.\d+"), "Python/<version>"),
    (re.compile(r"\blarder_([a-z0-9-]+)_[A-Za-z0-9_-]{43}\b"), r"larder_\1_<secret>"),
    (re.compile(r"^id: [\w-]{48}$", re.MULTILINE), "id: <event>"),
]

# The numbers of seconds that depend on the time between two commands, and their tolerance.
SECONDS = re.compile(
    r'(?:(?<=ttl=)|(?<=Age: )|(?<="expiresInSeconds": ))-?\d+(?:\.\d+)?|(?<=B in )\d+(?= s$)', re.MULTILINE
)
TOLERANCE = 10


def differences(says, printed):
    """Returns the lines in which the printed output differs from the document; the list is empty if there are none."""
    says, printed = normal(says), normal(printed)
    if alike(says, printed):
        return []
    return list(
        difflib.unified_diff(says.splitlines(), printed.splitlines(), "the document", "printed", lineterm="")
    )


def normal(text):
    """Returns a text as it looks on a terminal, with its variable parts replaced."""
    text = text.replace("\r", "").rstrip("\n")
    for pattern, stand_in in VARIABLE:
        text = pattern.sub(stand_in, text)
    return text


def alike(one, other):
    """Returns whether two texts are equal, except for numbers of seconds within the tolerance."""
    if SECONDS.sub("<seconds>", one) != SECONDS.sub("<seconds>", other):
        return False
    pairs = zip(SECONDS.findall(one), SECONDS.findall(other))
    return all(abs(float(first) - float(second)) <= TOLERANCE for first, second in pairs)
