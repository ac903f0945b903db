import Primitives
import Testing

@Suite("JSON pointers")
struct JSONPointerTests {
    private static let example = #"""
        {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8}
        """#

    @Test(
        "The examples of the RFC lead to their values (RFC 6901 §5)",
        arguments: [
            ("", example), ("/foo", #"["bar", "baz"]"#), ("/foo/0", #""bar""#), ("/", "0"), ("/a~1b", "1"),
            ("/c%d", "2"),
            ("/e^f", "3"), ("/g|h", "4"), ("/i\\j", "5"), ("/k\"l", "6"), ("/ ", "7"), ("/m~0n", "8"),
        ])
    func examples(text: String, expected: String) throws {
        let pointer = try JSONPointer(text)
        #expect(pointer.value(in: try JSON(parsing: Self.example)) == (try JSON(parsing: expected)))
        #expect(pointer.description == text)
    }

    @Test(
        "A pointer without a value in the document gives nil (RFC 6901 §4)",
        arguments: [
            "/fo", "/foo/2", "/foo/-", "/foo/01", "/foo/-1", "/foo/+1", "/foo/1e0", "/foo/ 1", "/foo/", "/foo/0/0",
            "/foo/18446744073709551616", "/foo/\u{661}", "//", "/foo/bar",
        ])
    func missing(text: String) throws {
        #expect(try JSONPointer(text).value(in: try JSON(parsing: Self.example)) == nil)
    }

    @Test("A tilde is decoded once, so ~01 means ~1 (RFC 6901 §4)")
    func tilde() throws {
        #expect(try JSONPointer("/~01").tokens == ["~1"])
        #expect(try JSONPointer("/~10~01/~0~0").tokens == ["/0~1", "~~"])
    }

    @Test(
        "A text that is no pointer is refused", arguments: ["a", "a/b", "#", "#/a", "/~", "/~2", "/a~", "/~~0", " /a"])
    func invalid(text: String) {
        #expect(throws: JSONPointer.SyntaxError.self) { try JSONPointer(text) }
    }

    @Test("Canonically equivalent names are different names, and make different pointers (RFC 6901 §4)")
    func normalisation() throws {
        let document: JSON = .object([JSON.Member("\u{E9}", 1), JSON.Member("e\u{301}", 2)])
        let (composed, decomposed) = (try JSONPointer("/\u{E9}"), try JSONPointer("/e\u{301}"))
        #expect(composed.value(in: document) == 1)
        #expect(decomposed.value(in: document) == 2)
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed, JSONPointer(tokens: ["\u{E9}"])]).count == 2)
    }

    @Test("A tilde before a combining accent is escaped, and decoded again")
    func accent() throws {
        let pointer: JSONPointer = ["~\u{301}/"]
        #expect(pointer.description == "/~0\u{301}~1")
        #expect(try JSONPointer(pointer.description) == pointer)
    }
}
