"""The prose that the rule of words looks at, and its list of numbers."""

import unittest

from words import allowances, complaints, findings, lowered

SWIFT = '''
/// Returns what is stored, and `what` stays.
///
/// ```swift
/// let what = try await find("who")
/// ```
let address = "http://example.com/what"  // for nobody
let text = """
    // who
    """
let raw = #"say "what" // who"#
/* Whoever
   reads everything. */
//// Anything.
@Test("Nothing is left of \\"who\\" asks", .tags(.what))
func whoami() {}
@Suite(
    "What a `whoami` says")
'''

SHELL = '''#!/bin/sh
# What it is for.
what=1 # who
echo "a # what" 'nobody'
'''

PYTHON = '''"""Says what
it is about."""

what = """who"""


def who():
    # whom
    """Somebody."""
    return "what"  # whose
'''

MARKDOWN = '''# What it is

Everybody uses `what`, and `a span
over who`, and [this](whose.md#what-is-it).

```sh
who
```

~~~
```
nobody
~~~

An open ` and somebody

else's ` and somewhat.
'''

YAML = '''# What
openapi: 3.1.0
info:
  summary: Whose
  description: |
    Says who.

    And `what`.
tags:
  - description: Nobody
    name: what
  - name: who
    description: One
      and everything
    x-what: who
example: nobody
'''


class Prose(unittest.TestCase):
    def check(self, path, text, *expected):
        self.assertEqual([(line, word.lower()) for line, word in findings(path, text)], list(expected))

    def test_swift_has_prose_in_comments_and_titles(self):
        self.check(
            "a.swift", SWIFT, (2, "what"), (7, "nobody"), (12, "whoever"), (13, "everything"), (14, "anything"),
            (15, "nothing"), (15, "who"), (17, "what"),
        )

    def test_other_languages_with_slashes_have_prose_in_comments(self):
        self.check("a.js", "const who = '//what'; // whom\n/**\n * Whose\n */\n", (1, "whom"), (3, "whose"))
        self.check("a.css", "a { content: url(//what) } /* who */\n", (1, "who"))

    def test_scripts_have_prose_in_comments(self):
        self.check("scripts/a", SHELL, (2, "what"), (3, "who"))
        self.check("Dockerfile", "# what\nRUN who\n", (1, "what"))

    def test_python_has_prose_in_comments_and_docstrings(self):
        self.check("a.py", PYTHON, (1, "what"), (8, "whom"), (9, "somebody"), (10, "whose"))

    def test_markdown_is_prose_without_code_and_targets_of_links(self):
        self.check("a.md", MARKDOWN, (1, "what"), (3, "everybody"), (15, "somebody"))

    def test_an_api_has_prose_in_descriptions(self):
        self.check(
            "openapi.yaml", YAML, (1, "what"), (4, "whose"), (6, "who"), (10, "nobody"), (14, "everything"))

    def test_other_files_have_no_prose(self):
        self.check("corpus/what", "# what\n")
        self.check("a.json", '{"what": "// who"}\n')


class Numbers(unittest.TestCase):
    found = {"a.md": [(3, "what"), (9, "who")], "b.md": [(1, "nobody")]}

    def test_equal_numbers_are_right(self):
        self.assertEqual(complaints(self.found, {"a.md": 2, "b.md": 1}), [])

    def test_a_word_too_many_is_named_with_its_line(self):
        lines = complaints(self.found, {"a.md": 1, "b.md": 1})
        self.assertIn("a.md: 2 words, 1 allowed", lines[0])
        self.assertEqual(lines[1:], ["    a.md:3: what", "    a.md:9: who"])

    def test_a_file_that_is_not_listed_may_have_no_word(self):
        self.assertIn("b.md: 1 word, 0 allowed", complaints(self.found, {"a.md": 2})[0])

    def test_a_number_that_is_too_high_must_fall(self):
        for allowed in ({"a.md": 3, "b.md": 1}, {"a.md": 2, "b.md": 1, "gone.md": 1}):
            lines = complaints(self.found, allowed)
            self.assertEqual(len(lines), 1)
            self.assertIn("scripts/lint --words", lines[0])

    def test_a_new_list_only_lowers_numbers(self):
        self.assertEqual(lowered(self.found, {"a.md": 5, "gone.md": 1}), {"a.md": 2})
        self.assertEqual(lowered(self.found, {"a.md": 1, "b.md": 1}), {"a.md": 1, "b.md": 1})
        self.assertEqual(lowered(self.found, None), {"a.md": 2, "b.md": 1})

    def test_the_list_is_read_by_lines(self):
        self.assertEqual(allowances("# a comment\na b.md 12\n"), {"a b.md": 12})
        for line in ("a.md", "a.md 0", "a.md -1", "<<<<<<< HEAD"):
            with self.assertRaises(ValueError):
                allowances(line)


if __name__ == "__main__":
    unittest.main()
