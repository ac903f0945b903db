"""The names between files that the rule of floors sees, and its complaints about them."""

import re
import unittest

from floors import Module, code, complaints, cycles, floors

LIST = """# Floors.
Shop: Values Values/Coins . Desk
# allowed: Shop: Values/Price.swift Shop.swift - The price knows its shop.
"""


def check(texts, list="Shop: Values .\n", **options):
    return complaints({"Shop": texts}, *floors(list), **options)


def arrows(**texts):
    module = Module({f"{name}.swift": text for name, text in texts.items()})
    return {path: {owner: dict(names) for owner, names in owners.items()} for path, owners in module.arrows.items()}


class Code(unittest.TestCase):
    def test_comments_and_literals_are_removed(self):
        for text, kept in [
            ("A // B\nC", "A  \nC"),
            ("A /* B /* C */ D */ E", "A   E"),
            ('A "B // C" D', "A   D"),
            ('A "B \\" C" D', "A   D"),
            ('A #"B " \\(C)"# D', "A   D"),
            ('A """\nB "C"\n""" D', "A \n\n D"),
            ('A "B\nC', "A  \nC"),
        ]:
            self.assertEqual(code(text), kept, text)

    def test_interpolated_code_is_kept(self):
        for text, names in [
            ('"a \\(B) c"', ["B"]),
            ('"a \\(B.c("d", E(f)) + "g \\(H)") i" J', ["B.c", "E", "H", "J"]),
            ('#"a \\#(B) "c" \\(d)"#', ["B"]),
            ('"""\n\\(A) "b"\n"""', ["A"]),
        ]:
            self.assertEqual(re.findall(r"[A-Z][\w.]*", code(text)), names, text)


class Names(unittest.TestCase):
    def test_a_file_names_the_types_of_another(self):
        found = arrows(Shop="struct Shop {\n    let price: Price\n}", Price="package final class Price {}")
        self.assertEqual(found, {"Shop.swift": {"Price.swift": {"Price": 2}}})

    def test_extensions_and_type_aliases_count(self):
        found = arrows(A="extension B {}\nlet c: C", B="enum B {}", C="typealias C = Int")
        self.assertEqual(found, {"A.swift": {"B.swift": {"B": 1}, "C.swift": {"C": 2}}})

    def test_a_nested_type_belongs_to_the_file_that_declares_it(self):
        nested = "extension B {\n    struct C {\n        enum D {}\n    }\n}"
        found = arrows(A="let a: B.C.D", B="struct B {}", C=nested)
        self.assertEqual(found["A.swift"], {"B.swift": {"B": 1}, "C.swift": {"B.C": 1, "B.C.D": 1}})

    def test_members_private_types_and_other_modules_do_not_count(self):
        found = arrows(
            A="let a: Text.Index = .Index\nprivate struct Own {}\nlet b: Own\nimport struct Foundation.Index",
            Index="struct Index {}", B="private struct Hidden {}\nstruct Own {}", C="let c: Hidden",
        )
        self.assertEqual(found, {})


class Cycles(unittest.TestCase):
    def test_files_that_name_one_another_are_a_cycle(self):
        found = cycles("ABCDE", {"A": "B", "B": "CD", "C": "A", "D": "E"})
        self.assertEqual(found, [["A", "B", "C"]])


class Complaints(unittest.TestCase):
    TEXTS = {"Shop.swift": "struct Shop { let price: Price }", "Values/Price.swift": "struct Price {}"}

    def test_a_type_of_a_higher_floor_may_name_a_lower_one(self):
        self.assertEqual(check(self.TEXTS), [])

    def test_a_type_of_a_lower_floor_names_a_higher_one(self):
        lines = check(self.TEXTS, "Shop: . Values\n")
        self.assertEqual(len(lines), 1)
        for part in ["Sources/Shop/Shop.swift:1", " Price ", "Sources/Shop/Values/Price.swift", "pass a value"]:
            self.assertIn(part, lines[0])

    def test_a_folder_must_be_in_the_list_and_in_the_sources(self):
        self.assertIn("the folder Values of Shop is missing", check(self.TEXTS, "Shop: .\n")[0])
        self.assertIn("Shop has no files in the folder Desk", check(self.TEXTS, "Shop: Values Desk .\n")[0])

    def test_a_module_must_be_in_the_list_and_in_the_sources(self):
        self.assertIn("there is no module Store", check(self.TEXTS, "Shop: Values .\nStore: .\n")[0])
        self.assertEqual(check(self.TEXTS, "", lists_all=False), [])
        self.assertIn("the module Shop is missing", check(self.TEXTS, "", lists_all=True)[0])

    def test_a_cycle_may_have_eight_files(self):
        def ring(count):
            return {f"F{n}.swift": f"struct F{n} {{ let next: F{(n + 1) % count}? }}" for n in range(count)}

        self.assertEqual(check(ring(8), "Shop: .\n"), [])
        lines = check(ring(9), "Shop: .\n")
        self.assertIn("a cycle of 9 files, 8 allowed", lines[0])
        self.assertIn("F8.swift names F0.swift", lines[-1])

    def test_an_allowance_hides_the_names_between_its_files_and_must_be_needed(self):
        allowance = "# allowed: Shop: Values/Price.swift Shop.swift - The price knows its shop.\n"
        texts = self.TEXTS | {"Values/Price.swift": "struct Price { let shop: Shop }"}
        self.assertEqual(len(check(texts)), 1)
        self.assertEqual(check(texts, "Shop: Values .\n" + allowance), [])
        self.assertIn("no rule needs the allowance", check(self.TEXTS, "Shop: Values .\n" + allowance)[0])


class List(unittest.TestCase):
    def test_the_list_has_folders_and_allowances(self):
        self.assertEqual(
            floors(LIST),
            ({"Shop": ["Values", "Values/Coins", ".", "Desk"]}, [("Shop", {"Values/Price.swift", "Shop.swift"})]),
        )

    def test_other_lines_and_a_fourth_allowance_are_refused(self):
        allowance = "# allowed: Shop: A.swift B.swift - They are friends.\n"
        floors(allowance * 3)
        for text in ["Shop", "Shop:", "Shop: .\nShop: .", "# allowed: Shop: A.swift B.swift", allowance * 4]:
            with self.assertRaises(ValueError, msg=text):
                floors(text)


if __name__ == "__main__":
    unittest.main()
