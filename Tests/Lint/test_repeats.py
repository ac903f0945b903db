"""The comments that the rule of repeated names finds."""

import unittest

from repeats import repeats


class Repeats(unittest.TestCase):
    def test_a_comment_that_repeats_name_and_type_is_found(self):
        for comment, declaration in [
            ("The key.", "let key: String"),
            ("The kind of the entry.", "package var kind: Entry.Kind"),
            ("Returns the waiting callers.", "func waitingCallers() -> [Caller] {"),
            ("Whether the body is in its file.", "var isBodyInFile: Bool { file != nil }"),
        ]:
            self.assertEqual(repeats(f"/// {comment}\n{declaration}"), [(1, "/// " + comment)], comment)
        self.assertEqual(len(repeats("    /// The token.\n    @usableFromInline\n    let token: Token")), 1)

    def test_a_comment_that_says_more_is_not_found(self):
        for comment, declaration in [
            ("The size of the body, in bytes.", "let size: Int"),
            ("The key; `nil` before the head has arrived.", "let key: String?"),
            ("The stated lifetime (RFC 9111 §4.2.1).", "let statedLifetime: Duration"),
            ("At least 1.", "let count: Int"),
        ]:
            self.assertEqual(repeats(f"/// {comment}\n{declaration}"), [], comment)

    def test_comments_of_several_lines_are_not_judged(self):
        self.assertEqual(repeats("/// The key.\n/// The key.\nlet key: String"), [])


if __name__ == "__main__":
    unittest.main()
