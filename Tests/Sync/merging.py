"""The three-way merge that the checker expects of Larder, written a second time and for clarity only.

A body is a value of `json`, or a text. `ABSENT` stands for a resource, or a member of an object, that does not exist.
Bodies here have no booleans, because Python says that `True` equals 1.
"""

import json
from decimal import Decimal


class _Absent:
    def __repr__(self):
        return "ABSENT"


ABSENT = _Absent()


class Clash(Exception):
    """Both sides have changed the same value, at the path in the message."""


def merge(base, ours, theirs, path="", prefers_ours=False):
    """Returns theirs with the edits that lead from the base to ours. Raises `Clash`, unless ours wins a clash."""
    if ours == theirs or ours == base:
        return theirs
    if theirs == base:
        return ours
    if isinstance(ours, dict) and isinstance(theirs, dict) and (base is ABSENT or isinstance(base, dict)):
        base = {} if base is ABSENT else base
        merged = {}
        for name in {**theirs, **ours}:
            sides = (side.get(name, ABSENT) for side in (base, ours, theirs))
            value = merge(*sides, f"{path}/{name}", prefers_ours)
            if value is not ABSENT:
                merged[name] = value
        return merged
    if prefers_ours:
        return ours
    raise Clash(path or "the whole body")


def clashes(base, ours, theirs):
    try:
        merge(base, ours, theirs)
    except Clash:
        return True
    return False


def is_lost(first, base, ours):
    """Returns whether an edit from the base to ours sets a value back to that in `first`.

    A change from `first` to the edited body then does not tell the edit, and keeps the value of a rival.
    """
    if base == ours:
        return False
    merges = isinstance(first, dict) or first is ABSENT
    if isinstance(ours, dict) and (base is ABSENT or isinstance(base, dict)):
        if not merges:
            return False
        base = {} if base is ABSENT else base
        first = {} if first is ABSENT else first
        return any(
            is_lost(*(side.get(name, ABSENT) for side in (first, base, ours))) for name in {**base, **ours})
    return merges if isinstance(ours, dict) else first == ours


def parse(text):
    """Returns the value of a JSON text, with exact numbers; the text itself if it is not JSON; `ABSENT` for `None`."""
    if text is None:
        return ABSENT
    try:
        return json.loads(text, parse_float=Decimal)
    except ValueError:
        return text


def differences(before, after, path=""):
    """Returns the paths at which two bodies differ, with both values."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [
            found for name in {**before, **after}
            for found in differences(before.get(name, ABSENT), after.get(name, ABSENT), f"{path}/{name}")]
    return [] if before == after else [(path or "/", before, after)]


def merge_patch(target, patch):
    """Applies a JSON Merge Patch (RFC 7396 §2)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), value)
    return result


def json_patch(target, operations):
    """Applies a JSON Patch (RFC 6902) with the operations add, replace, remove and test on members of objects.

    Raises `ValueError` if an operation does not apply.
    """
    result = json.loads(dump(target), parse_float=Decimal)
    for operation in operations:
        *parents, name = [token.replace("~1", "/").replace("~0", "~") for token in operation["path"].split("/")[1:]]
        place = result
        for parent in parents:
            place = place.get(parent) if isinstance(place, dict) else None
        if not isinstance(place, dict):
            raise ValueError(f"{operation['path']} has no parent")
        if operation["op"] != "add" and name not in place:
            raise ValueError(f"{operation['path']} does not exist")
        if operation["op"] == "remove":
            del place[name]
        elif operation["op"] in ("add", "replace"):
            place[name] = operation["value"]
        elif operation["op"] != "test" or place[name] != operation["value"]:
            raise ValueError(f"{operation} does not apply")
    return result


def dump(value, gap=""):
    """Returns the JSON text of a value, with exact numbers. A text that is no part of a document stays as it is.

    `gap` is white space that is put between the tokens.
    """
    return value if isinstance(value, str) else _text(value, gap)


def _text(value, gap):
    if isinstance(value, dict):
        members = (f"{json.dumps(name)}:{gap}{_text(member, gap)}" for name, member in value.items())
        return "{" + gap + f",{gap}".join(members) + gap + "}"
    if isinstance(value, list):
        return "[" + gap + f",{gap}".join(_text(element, gap) for element in value) + gap + "]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value)
