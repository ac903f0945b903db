"""Tests of the steward: the body that a squash must have, and the squashes that Larder must refuse."""

import unittest

from history import BLIND, Change, Intent
from merging import ABSENT, Clash
from steward import squash

BASE = {"a": 1, "b": 1}


def change(base, ours, on_conflict="merge"):
    return Change("c", "lane", "/strong/1", "PUT", [Intent(base, ours)], on_conflict)


class SquashTests(unittest.TestCase):
    def test_both_edits_are_in_the_body(self):
        intent = squash(change(BASE, {"a": 2, "b": 1}), change(BASE, {"a": 1, "b": 2}))
        self.assertEqual(intent, Intent(BASE, {"a": 2, "b": 2}))

    def test_a_change_on_the_body_before_replaces_it(self):
        intent = squash(change("one", "two"), change("two", "three", "hold"))
        self.assertEqual(intent, Intent("one", "three"))

    def test_blind_changes_have_the_last_body(self):
        self.assertEqual(squash(change(BLIND, "one"), change(BLIND, "two")), Intent(BLIND, "two"))

    def test_clashes_are_refused(self):
        for first, last in [
            (change(BASE, {"a": 2, "b": 1}), change(BASE, {"a": 3, "b": 1})),
            (change(BASE, {"a": 2, "b": 1}), change(BASE, {"a": 1, "b": 2}, "hold")),
            (change(BASE, {"a": 2, "b": 1}), change(BASE, ABSENT)),
            (change(BASE, ABSENT), change(BASE, {"a": 3, "b": 1})),
            (change(ABSENT, BASE), change(BASE, ABSENT)),
            (change("one", ABSENT), change(ABSENT, "two")),
            (change(BASE, {"a": 2, "b": 1}, "theirs"), change({"a": 2, "b": 1}, {"a": 3, "b": 1})),
            (change(BASE, {"a": 2, "b": 1}), change({"a": 2, "b": 1}, BASE)),
            (change(BASE, {"a": 2, "b": 1}), change({"a": 2, "b": 1, "c": 1}, {"a": 2, "b": 1})),
            (change("one", "two"), change("two", "one")),
            (change({"k": BASE}, {"k": 1}), change({"k": 1}, {"k": {"a": 2}})),
            (change(BLIND, "one"), change("one", "two")),
            (change("one", "two"), change(BLIND, "three")),
        ]:
            with self.assertRaises(Clash):
                squash(first, last)


if __name__ == "__main__":
    unittest.main()
