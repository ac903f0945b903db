"""Whether what was printed is what a document says, but for what cannot be the same twice."""

import difflib
import re

# What is another each time, and what stands for it.
VARIABLE = [
    # Only how it looks: a terminal shows bold what curl tells it to.
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), "<instant>"),
    (re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"), "<date>"),
    (re.compile(r"\bPython/3\.\d+\.\d+"), "Python/<version>"),
    (re.compile(r"\blarder_([a-z0-9-]+)_[A-Za-z0-9_-]{43}\b"), r"larder_\1_<secret>"),
    (re.compile(r"^id: [\w-]{48}$", re.MULTILINE), "id: <event>"),
]

# Seconds that go by between one command and the next, and how many may.
SECONDS = re.compile(
    r'(?:(?<=ttl=)|(?<=Age: )|(?<="expiresInSeconds": ))-?\d+(?:\.\d+)?|(?<=B in )\d+(?= s$)', re.MULTILINE
)
TOLERANCE = 10


def differences(says, printed):
    """The lines in which what was printed differs from what a document says; none when it does not."""
    says, printed = normal(says), normal(printed)
    if alike(says, printed):
        return []
    return list(
        difflib.unified_diff(says.splitlines(), printed.splitlines(), "the document", "printed", lineterm="")
    )


def normal(text):
    """A text with its variable parts replaced, as it looks on a terminal."""
    text = text.replace("\r", "").rstrip("\n")
    for pattern, stand_in in VARIABLE:
        text = pattern.sub(stand_in, text)
    return text


def alike(one, other):
    """Whether two texts are the same, but for a few seconds."""
    if SECONDS.sub("<seconds>", one) != SECONDS.sub("<seconds>", other):
        return False
    pairs = zip(SECONDS.findall(one), SECONDS.findall(other))
    return all(abs(float(first) - float(second)) <= TOLERANCE for first, second in pairs)
