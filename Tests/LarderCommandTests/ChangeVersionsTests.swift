import Primitives
import Testing

@testable import LarderClient
@testable import LarderCommand

@Suite("The view of the versions of a change")
struct ChangeVersionsTests {
    private func version(_ text: String?, data: String? = nil) -> JSON {
        ["text": .string(orNull: text), "data": .string(orNull: data), "etag": .null]
    }

    private func conflict(_ seen: JSON, _ ours: JSON, _ theirs: JSON) throws -> ChangeVersions {
        try #require(
            ChangeVersions(
                try OutboxChange.sample(
                    "conflict",
                    [.init("base", "version"), .init("seen", seen), .init("ours", ours), .init("theirs", theirs)])))
    }

    @Test("A conflict of JSON shows the three values of each member that differs")
    func members() throws {
        let versions = try conflict(
            version(#"{"title": "Old", "n": 1, "tags": ["a"], "same": 0}"#),
            version(#"{"title": "Mine", "n": 1.0, "tags": ["a", "b"], "same": 0}"#),
            version(#"{"title": "Rival", "n": 2, "tags": ["a"], "same": 0}"#))
        #expect(
            versions.lines(forTerminal: true, width: 80) == [
                "/title  clash", #"  base    "Old""#, #"  ours    "Mine""#, #"  theirs  "Rival""#,
                "/n  theirs", "  base    1", "  ours    1.0", "  theirs  2",
                "/tags  ours", #"  base    ["a"]"#, #"  ours    ["a","b"]"#, #"  theirs  ["a"]"#,
            ])
        #expect(
            versions.lines(forTerminal: false, width: 1) == [
                "member\t/title\tclash\t\"Old\"\t\"Mine\"\t\"Rival\"", "member\t/n\ttheirs\t1\t1.0\t2",
                "member\t/tags\tours\t[\"a\"]\t[\"a\",\"b\"]\t[\"a\"]",
            ])
    }

    @Test("A resource that is gone, or that a change deletes, is compared as a whole document")
    func deleted() throws {
        let gone = try OutboxChange.sample(
            "conflict",
            [
                .init("base", "version"), .init("seen", version("[1]")), .init("ours", version("[2]")),
                .init("theirs", .null), .init("problem", ["kind": "deleted", "status": 404]),
            ])
        #expect(
            try #require(ChangeVersions(gone)).lines(forTerminal: true, width: 80) == [
                "the whole document  clash", "  base    [1]", "  ours    [2]", "  theirs  (none)",
            ])
        #expect(
            try #require(ChangeVersions(gone)).lines(forTerminal: false, width: 80) == ["member\t\tclash\t[1]\t[2]\t"])
    }

    @Test("A change without a conflict shows the members that it changes")
    func pending() throws {
        let change = try OutboxChange.sample(
            "pending",
            [
                .init("base", "version"), .init("seen", version(#"{"a": 1, "b": 1}"#)),
                .init("ours", version(#"{"a": 2, "c": null}"#)), .init("theirs", .null),
            ])
        let versions = try #require(ChangeVersions(change))
        #expect(
            versions.lines(forTerminal: false, width: 80) == [
                "member\t/a\tours\t1\t2\t", "member\t/b\tours\t1\t\t", "member\t/c\tours\t\tnull\t",
            ])
        #expect(versions.lines(forTerminal: true, width: 80).prefix(3) == ["/a  ours", "  base    1", "  ours    2"])
        #expect(!versions.lines(forTerminal: true, width: 80).contains { $0.contains("theirs") })
        #expect(ChangeVersions(try OutboxChange.sample("pending")) == nil)
    }

    @Test("Bodies that are no JSON are shown as a whole, and long or binary bodies in short")
    func wholes() throws {
        let long = (1...30).map { "line \($0)" }.joined(separator: "\n")
        let versions = try conflict(version("a\tb"), version(long), version(nil, data: "/w=="))
        let shown = versions.lines(forTerminal: true, width: 80)
        #expect(shown.prefix(4) == ["  base", #"    a\tb"#, "  ours", "    line 1"])
        #expect(shown.suffix(3) == ["    line 20", "    (10 more lines)", "  theirs  (1 B, not UTF-8)"])
        #expect(
            versions.lines(forTerminal: false, width: 80) == [
                "version\tbase\ta\\tb",
                "version\tours\t" + long.replacing("\n", with: "\\n"), "version\ttheirs\t(1 B, not UTF-8)",
            ])
        let unknown = try conflict(version("{}"), version("{}"), version(nil))
        #expect(unknown.lines(forTerminal: false, width: 80).last == "version\ttheirs\t(unknown)")
    }

    @Test("Foreign names and values neither end a line nor control the terminal, and fit its width")
    func hostile() throws {
        let name = "a\n\u{1b}]0;x\u{7}\u{202e}/~\t" + String(repeating: "long", count: 100)
        let values = ["old", "\u{1b}[2J\u{9b}\r\n", "\u{202e}" + String(repeating: "鍵", count: 200)].map {
            JSON.object([.init(name, .string($0))]).text
        }
        let members = try conflict(version(values[0]), version(values[1]), version(values[2]))
        let wholes = try conflict(version("x" + values[0]), version("x" + values[1]), version("\u{1b}\r\u{85}"))
        let control: Set<Unicode.Scalar> = ["\u{1b}", "\u{7}", "\u{202e}", "\n", "\r", "\u{9b}", "\u{85}"]
        for versions in [members, wholes] {
            for width in [1, 10, 40, 80] {
                let lines = versions.lines(forTerminal: true, width: width)
                #expect(lines.count >= 4)
                for line in lines {
                    #expect(line.columns <= width, "\(width): \(line)")
                    #expect(!line.unicodeScalars.contains { control.contains($0) || $0 == "\t" })
                }
            }
            for line in versions.lines(forTerminal: false, width: 80) {
                #expect(!line.unicodeScalars.contains { control.contains($0) })
                #expect(line.count { $0 == "\t" } == (line.hasPrefix("member") ? 5 : 2))
            }
        }
    }
}
