"""Tests of the checker: histories with a planted violation, which it must report, and histories without one."""

import unittest

import merging
from checker import check
from history import BLIND, Change, Clash, Effect, History, Intent, Read
from merging import ABSENT

PATH = "/strong/1"
BASE = {"c": 0, "r": 0}


class Story:
    """Makes a history, one event after another."""

    def __init__(self, path=PATH, body=BASE):
        self.changes = []
        self.effects = []
        self.path = path
        self.write("origin", body)

    def change(self, ours, base=BASE, state="done", applied=False, method="PUT", path=None, **options):
        number = len(self.changes) + 1
        final = state and {"state": state, "mayBeApplied": applied}
        self.changes.append(
            Change(
                f"c{number}", "lane", path or self.path, method, [Intent(base, ours)], is_acknowledged=True, id=number,
                final=final, **options))
        return self.changes[-1]

    def write(self, writer, result, change=None, precondition="If-Match", path=None, method="PUT", stored=None):
        number = len(self.effects) + 1
        self.effects.append(
            Effect(
                number, float(number), "larder" if change else writer, path or self.path, method, result,
                result if stored is None else stored, change and change.token, precondition))

    def rival(self, result):
        self.write("rival", result)

    def send(self, change, result, **options):
        self.write("larder", result, change, **options)

    def violations(self):
        return [violation.kind for violation in check(History(self.changes, self.effects)).violations]


class CheckerTests(unittest.TestCase):
    def test_a_merge_with_a_rival_is_in_order(self):
        story = Story()
        change = story.change({"c": 1, "r": 0})
        story.rival({"c": 0, "r": 1})
        story.send(change, {"c": 1, "r": 1})
        self.assertEqual(story.violations(), [])

    def test_a_lost_rival_edit_is_found(self):
        story = Story()
        change = story.change({"c": 1, "r": 0})
        story.rival({"c": 0, "r": 1})
        story.send(change, {"c": 1, "r": 0})
        self.assertEqual(story.violations(), ["lost edit"])

    def test_a_rival_edit_of_the_same_member_must_not_be_overwritten(self):
        for policy, violations in (("merge", ["lost edit"]), ("theirs", ["lost edit"]), ("ours", [])):
            story = Story()
            change = story.change({"c": 1, "r": 0}, on_conflict=policy)
            story.rival({"c": 2, "r": 0})
            story.send(change, {"c": 1, "r": 0})
            self.assertEqual(story.violations(), violations, policy)

    def test_a_rival_edit_without_a_clash_must_survive_the_policy_ours(self):
        for sent, violations in (({"c": 1, "r": 1}, []), ({"c": 1, "r": 0}, ["lost edit"])):
            story = Story()
            change = story.change({"c": 1, "r": 0}, on_conflict="ours")
            story.rival({"c": 2, "r": 1})
            story.send(change, sent)
            self.assertEqual(story.violations(), violations, sent)

    def test_a_merge_in_spite_of_hold_is_found(self):
        story = Story()
        change = story.change({"c": 1, "r": 0}, on_conflict="hold")
        story.rival({"c": 0, "r": 1})
        story.send(change, {"c": 1, "r": 1})
        self.assertEqual(story.violations(), ["lost edit"])

    def test_a_merge_that_drops_a_part_of_the_change_is_found(self):
        story = Story()
        change = story.change({"c": 1, "r": 0, "d": 1})
        story.rival({"c": 0, "r": 1})
        story.send(change, {"c": 1, "r": 1})
        self.assertEqual(story.violations(), ["lost edit"])

    def test_a_number_that_loses_its_digits_is_found(self):
        exact, rounded = merging.parse('{"n": 0.12345678901234567890}'), merging.parse('{"n": 0.12345678901234568}')
        story = Story(body=exact)
        change = story.change({**exact, "c": 1}, base=exact)
        story.send(change, {**rounded, "c": 1})
        self.assertEqual(story.violations(), ["lost edit"])

    def test_a_resurrection_is_found(self):
        story = Story()
        change = story.change({"c": 1, "r": 0})
        story.rival(ABSENT)
        story.send(change, {"c": 1, "r": 0}, precondition="If-None-Match")
        self.assertEqual(story.violations(), ["lost edit"])

    def test_a_deletion_of_a_rival_edit_is_found(self):
        story = Story()
        change = story.change(ABSENT, method="DELETE")
        story.rival({"c": 0, "r": 1})
        story.send(change, ABSENT, method="DELETE")
        self.assertEqual(story.violations(), ["lost edit"])

    def test_an_acknowledged_change_that_larder_does_not_know_is_found(self):
        story = Story()
        story.change({"c": 1, "r": 0}, state=None)
        self.assertEqual(story.violations(), ["lost change"])

    def test_a_change_that_is_done_without_an_effect_is_found(self):
        story = Story()
        story.change({"c": 1, "r": 0})
        self.assertEqual(story.violations(), ["lost edit"])

    def test_a_deletion_of_an_absent_resource_needs_no_effect(self):
        story = Story()
        story.change(ABSENT, method="DELETE")
        story.rival(ABSENT)
        self.assertEqual(story.violations(), [])

    def test_a_change_without_an_end_is_found(self):
        story = Story()
        story.change({"c": 1, "r": 0}, state="pending")
        self.assertEqual(story.violations(), ["no end"])

    def test_a_denied_effect_is_found(self):
        for applied, violations in ((False, ["denied effect"]), (True, [])):
            story = Story()
            change = story.change({"c": 1, "r": 0}, state="cancelled", applied=applied)
            story.send(change, {"c": 1, "r": 0})
            self.assertEqual(story.violations(), violations)

    def test_a_double_effect_is_found(self):
        story = Story()
        change = story.change({"c": 1, "r": 0})
        story.send(change, {"c": 1, "r": 0})
        story.rival({"c": 1, "r": 1})
        story.send(change, {"c": 1, "r": 1})
        self.assertEqual(story.violations(), ["double effect"])

    def test_a_double_post_is_found_unless_its_author_accepts_it(self):
        for options, violations in (
            ({}, ["double effect"]), ({"is_keyed": True, "on_uncertain": "retry"}, ["double effect"]),
            ({"on_uncertain": "retry"}, []), ({"decisions": ["retry"]}, []),
        ):
            story = Story("/items/1", [])
            change = story.change({"item": 1}, base=BLIND, method="POST", **options)
            story.send(change, {"item": 1}, method="POST", precondition=None)
            story.send(change, {"item": 1}, method="POST", precondition=None)
            self.assertEqual(story.violations(), violations, options)

    def test_a_wrong_order_is_found(self):
        story = Story()
        first = story.change({"c": 1, "r": 0})
        second = story.change({"c": 1, "r": 0, "d": 2})
        story.send(second, {"c": 0, "r": 0, "d": 2})
        story.send(first, {"c": 1, "r": 0, "d": 2})
        self.assertIn("wrong order", story.violations())

    def test_a_wrong_order_across_the_resources_of_a_lane_is_found(self):
        story = Story()
        story.write("origin", BASE, path="/strong/2")
        first = story.change({"c": 1, "r": 0})
        second = story.change({"c": 2, "r": 0}, path="/strong/2")
        story.send(second, {"c": 2, "r": 0}, path="/strong/2")
        story.send(first, {"c": 1, "r": 0})
        self.assertEqual(story.violations(), ["wrong order"])

    def test_an_effect_behind_a_held_change_is_found(self):
        story = Story()
        first = story.change({"c": 1, "r": 0}, state="cancelled")
        second = story.change({"c": 0, "r": 0, "d": 2})
        first.held.append((1.5, 2.5))
        story.send(second, {"c": 0, "r": 0, "d": 2})
        self.assertEqual(story.violations(), ["wrong order"])

    def test_a_needless_conflict_is_found(self):
        for theirs, violations in (({"c": 0, "r": 1}, ["needless conflict"]), ({"c": 2, "r": 0}, [])):
            story = Story()
            change = story.change({"c": 1, "r": 0}, state="conflict")
            change.clashes.append(Clash("clash", BASE, {"c": 1, "r": 0}, theirs))
            self.assertEqual(story.violations(), violations)

    def test_only_the_origin_itself_may_have_rewritten_the_base(self):
        for writer, violations in (("larder", []), ("rival", ["lost edit"])):
            story = Story("/rewrite/1")
            first = story.change({"c": 1, "r": 0})
            second = story.change({"c": 2, "r": 0}, base={"c": 1, "r": 0})
            story.send(first, {"c": 1, "r": 0}, stored={"c": 1, "r": 0, "revision": 1})
            if writer == "rival":
                story.rival({"c": 1, "r": 1, "revision": 2})
            story.send(second, {"c": 2, "r": 0})
            self.assertEqual(story.violations(), violations)

    def test_a_rewritten_base_is_no_reason_to_hold_a_change(self):
        story = Story("/rewrite/1")
        first = story.change({"c": 1, "r": 0})
        second = story.change({"c": 2, "r": 0}, base={"c": 1, "r": 0}, on_conflict="hold", method="PATCH")
        story.send(first, {"c": 1, "r": 0}, stored={"c": 1, "r": 0, "revision": 1})
        story.send(second, {"c": 2, "r": 0, "revision": 1}, method="PATCH")
        self.assertEqual(story.violations(), [])

    def test_a_request_without_a_precondition_is_found_unless_the_origin_has_none(self):
        for path, violations in ((PATH, ["no precondition"]), ("/none/1", [])):
            story = Story(path)
            change = story.change({"c": 1, "r": 0})
            story.send(change, {"c": 1, "r": 0}, precondition=None)
            self.assertEqual(story.violations(), violations)

    def test_losses_without_a_sound_validator_are_counted_apart(self):
        story = Story("/none/1")
        change = story.change({"c": 1, "r": 0})
        story.rival({"c": 0, "r": 1})
        story.send(change, {"c": 1, "r": 0}, precondition=None)
        checker = check(History(story.changes, story.effects))
        self.assertEqual((checker.violations, checker.unguarded["lost edits"]), ([], 1))

    def test_a_stale_read_is_found(self):
        for value, violations in (({"c": 0, "r": 0}, ["stale read"]), ({"c": 1, "r": 0}, []), ({"c": 1, "r": 1}, [])):
            story = Story()
            change = story.change({"c": 1, "r": 0})
            story.send(change, {"c": 1, "r": 0})
            story.rival({"c": 1, "r": 1})
            history = History(
                story.changes, story.effects, reads=[Read(PATH, 0, BASE), Read(PATH, 1, value)],
                done={PATH: [change.token]})
            self.assertEqual([violation.kind for violation in check(history).violations], violations)

    def test_an_effect_of_no_change_is_found(self):
        story = Story()
        story.send(Change("foreign", "lane", PATH, "PUT", []), {"c": 1, "r": 0})
        self.assertEqual(story.violations(), ["foreign effect"])

    def test_the_body_of_a_post_must_be_its_own(self):
        story = Story("/items/1", [])
        change = story.change({"item": 1}, base=BLIND, method="POST")
        story.send(change, {"item": 2}, method="POST", precondition=None)
        self.assertEqual(story.violations(), ["foreign effect"])

    def test_a_second_creation_after_a_deletion_by_the_rival_is_no_double_effect(self):
        # No precondition tells the second absence from the first.
        story = Story(body=ABSENT)
        change = story.change({"c": 1}, base=ABSENT)
        story.send(change, {"c": 1}, precondition="If-None-Match")
        story.rival(ABSENT)
        story.send(change, {"c": 1}, precondition="If-None-Match")
        self.assertEqual(story.violations(), [])


class HistoryTests(unittest.TestCase):
    def test_the_story_of_a_violation_has_the_change_its_neighbours_and_their_effects(self):
        story = Story()
        for number in range(5):
            change = story.change({"c": number, "r": 0})
            story.send(change, {"c": number, "r": 0})
        lines = "\n".join(History(story.changes, story.effects).lane("lane", "c3", span=1))
        found = [token in lines for token in ("change c1", "change c2", "change c3", "change c4", "change c5")]
        self.assertEqual(found, [False, True, True, True, False])
        self.assertEqual(lines.count("EFFECT"), 3)


class MergeTests(unittest.TestCase):
    def test_members_are_merged_and_arrays_are_not(self):
        self.assertEqual(
            merging.merge({"a": 1, "n": {"x": 1}}, {"a": 2, "n": {"x": 1}}, {"a": 1, "n": {"x": 2, "y": 3}}),
            {"a": 2, "n": {"x": 2, "y": 3}})
        self.assertTrue(merging.clashes({"a": [1]}, {"a": [1, 2]}, {"a": [1, 3]}))
        self.assertTrue(merging.clashes({"a": 1}, {}, {"a": 2}))
        self.assertEqual(merging.merge({"a": 1}, {}, {"a": 1, "b": None}), {"b": None})
        self.assertTrue(merging.clashes(ABSENT, {"a": 1}, {"a": 2}))
        self.assertTrue(merging.clashes("base", "ours", "theirs"))

    def test_numbers_keep_their_text(self):
        text = '{"a": 1.10, "b": 12345678901234567890.123456789, "c": 9007199254740993}'
        self.assertEqual(merging.dump(merging.parse(text)).replace(",", ", ").replace(":", ": "), text)

    def test_patches(self):
        document = {"a": 1, "n": {"x": 1}}
        self.assertEqual(merging.merge_patch(document, {"a": None, "n": {"y": 2}}), {"n": {"x": 1, "y": 2}})
        operations = [{"op": "add", "path": "/n/y", "value": 2}, {"op": "remove", "path": "/a"}]
        self.assertEqual(merging.json_patch(document, operations), {"n": {"x": 1, "y": 2}})
        with self.assertRaises(ValueError):
            merging.json_patch({}, [{"op": "replace", "path": "/a", "value": 1}])


if __name__ == "__main__":
    unittest.main()
