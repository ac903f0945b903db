"""The faults of the scripted origin. A seed, a resource and the number of a request determine the fault."""

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A departure from an honest answer.

    `before` is a pause before the effect and `after` a pause behind it, in seconds. If `status` is not `None`, the
    answer has this status instead of the honest one. `reset` resets the connection instead of an answer, and `cut`
    ends the connection in the middle of the answer's body. `ambush` lets the rival write right after the effect.
    """

    name: str
    has_effect: bool = True
    before: float = 0
    after: float = 0
    status: int | None = None
    retry_after: int | None = None
    reset: bool = False
    cut: bool = False
    ambush: bool = False


NONE = Fault("none")
# Weights are per cent.
WRITES = (
    (3, Fault("lost-request", has_effect=False, reset=True)),
    (4, Fault("lost-answer", reset=True)),
    (2, Fault("lost-answer-ambush", reset=True, ambush=True)),
    (2, Fault("503-before", has_effect=False, status=503)),
    (1, Fault("503-retry-after", has_effect=False, status=503, retry_after=1)),
    (2, Fault("503-after", status=503)),
    (1, Fault("500-after-ambush", status=500, ambush=True)),
    (1, Fault("429", has_effect=False, status=429, retry_after=1)),
    (1, Fault("408-before", has_effect=False, status=408)),
    (1, Fault("408-after", status=408)),
    (1, Fault("412-without-reason", has_effect=False, status=412)),
    (0.5, Fault("422", has_effect=False, status=422)),
    (3, Fault("slow-before", before=1.5)),
    (3, Fault("slow-after", after=1.5)),
    (1, Fault("slow-after-ambush", after=1, ambush=True)),
)
READS = (
    (2, Fault("lost-answer", reset=True)),
    (2, Fault("503-before", has_effect=False, status=503)),
    (1, Fault("429", has_effect=False, status=429, retry_after=1)),
    (1, Fault("cut", cut=True)),
    (2, Fault("slow-after", after=1)),
    # The rival writes between the look and the request that follows.
    (6, Fault("ambush", ambush=True)),
)


def choose(seed, method, path, number):
    """Returns the fault of a request. `number` counts the requests for the path with this kind of method."""
    faults = READS if method == "GET" else WRITES
    draw = random.Random(f"{seed} {method == 'GET'} {path} {number}").uniform(0, 100)
    for weight, fault in faults:
        draw -= weight
        if draw < 0:
            return fault
    return NONE
