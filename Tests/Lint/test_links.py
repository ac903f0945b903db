"""The links that the rule of symbol links finds stale."""

import unittest

from links import declarations, stale

CODE = """
public struct Entry {
    enum State { case fresh, stale(since: Int), gone(String, code: Int) }
    let expiryDate: Int
    init?(key: String) {}
    func find(_ key: String, then body: @escaping (Int, Int) -> Void = { _, _ in }) {}
    func wait<Value>(for value: Value) {}
    subscript(key: String) -> Int { 0 }
    // func removed() {}
}
"""


class Links(unittest.TestCase):
    def check(self, link):
        return stale(f"/// See ``{link}``.", *declarations([CODE], modules=["DiskCache"]))

    def test_links_to_declarations_are_current(self):
        for link in [
            "Entry", "Entry/expiryDate", "DiskCache/Entry", "find(_:then:)", "Entry/find(_:then:)-(String)",
            "wait(for:)", "Entry/init(key:)", "subscript(key:)", "State/fresh", "State/stale(since:)",
            "State/gone(_:code:)", "find",
        ]:
            self.assertEqual(self.check(link), [], link)

    def test_links_to_no_declaration_are_stale(self):
        for link in [
            "Entries", "Entry/expiry", "removed()", "find(_:)", "find(_:later:)", "State/old", "State/stale(_:)",
            "wait(until:)", "a b",
        ]:
            self.assertEqual(self.check(link), [(1, link)], link)

    def test_code_is_not_searched_for_links(self):
        self.assertEqual(stale('let text = "``Gone``"', *declarations([CODE])), [])


if __name__ == "__main__":
    unittest.main()
