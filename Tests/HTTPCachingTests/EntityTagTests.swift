import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("Entity tags and validators")
struct EntityTagTests {
    @Test(
        "A valid entity tag is parsed into its opaque tag and its strength (RFC 9110 §8.8.3)",
        arguments: [
            ("\"a\"", "\"a\"", false), ("\"\"", "\"\"", false), ("W/\"a\"", "\"a\"", true), (" \"a\" ", "\"a\"", false),
            ("\"a,b\"", "\"a,b\"", false), (#""a\""#, #""a\""#, false), ("\"é\"", "\"é\"", false),
            ("\"*\"", "\"*\"", false),
            ("\"!#~\"", "\"!#~\"", false),
        ])
    func valid(text: String, opaqueTag: String, isWeak: Bool) throws {
        let tag = try #require(EntityTag(text))
        #expect(tag.opaqueTag == opaqueTag)
        #expect(tag.isWeak == isWeak)
        #expect(EntityTag(tag.text) == tag)
    }

    @Test(
        "An invalid entity tag is not parsed",
        arguments: [
            "", "a", "*", "\"", "\"a", "a\"", "w/\"a\"", "W/", "W/a", "W /\"a\"", "W/ \"a\"", "\"a b\"", "\"a\"b",
            "\"a\",\"b\"",
            "'a'", "\"a\u{7F}\"", "\"a\"\"", #""a\"b""#,
        ])
    func invalid(text: String) {
        #expect(EntityTag(text) == nil)
    }

    @Test(
        "Strong and weak comparison follow the table of RFC 9110 §8.8.3.2",
        arguments: [
            ("W/\"1\"", "W/\"1\"", false, true), ("W/\"1\"", "W/\"2\"", false, false),
            ("W/\"1\"", "\"1\"", false, true),
            ("\"1\"", "\"1\"", true, true), ("\"1\"", "\"2\"", false, false), ("\"a\"", "\"A\"", false, false),
        ])
    func comparison(left: String, right: String, strong: Bool, weak: Bool) throws {
        let tags = (try #require(EntityTag(left)), try #require(EntityTag(right)))
        #expect(tags.0.matches(tags.1, comparison: .strong) == strong)
        #expect(tags.1.matches(tags.0, comparison: .strong) == strong)
        #expect(tags.0.matches(tags.1, comparison: .weak) == weak)
        #expect(tags.1.matches(tags.0, comparison: .weak) == weak)
    }

    @Test(
        "A list of entity tags matches if it contains the current tag or is * (RFC 9110 §13.1.1, §13.1.2)",
        arguments: [
            ("\"a\"", true, true), ("\"b\"", false, false), ("*", true, true), (" * ", true, true),
            ("\"b\", \"a\"", true, true),
            (",, \"b\" ,\t\"a\",", true, true), ("W/\"a\"", false, true), ("W/\"b\", W/\"a\"", false, true),
            ("", false, false),
            ("a", false, false), ("*, \"b\"", false, false), ("\"*\"", false, false), ("\"b,\"a\"", false, false),
            ("b, \"a\"", true, true), ("\"a\"x", false, false), ("\"x, \"a\", y\"", false, false),
        ])
    func lists(list: String, strong: Bool, weak: Bool) {
        let current = EntityTag(strong: "a")
        #expect(EntityTag.anyMatches(list, current, comparison: .strong) == strong)
        #expect(EntityTag.anyMatches(list, current, comparison: .weak) == weak)
        #expect(!EntityTag.anyMatches(list, nil, comparison: .weak))
    }

    @Test("Validators become the fields of a conditional request (RFC 9111 §4.3.1)")
    func conditionalFields() {
        let date = "Thu, 01 Jan 2026 00:00:00 GMT"
        let both = Validators(etag: "W/\"a\"", lastModified: date).conditionalFields
        #expect(both[values: .ifNoneMatch] == ["W/\"a\""])
        #expect(both[values: .ifModifiedSince] == [date])
        #expect(Validators(etag: "\"a\"", lastModified: nil).conditionalFields == [.ifNoneMatch: "\"a\""])
        #expect(Validators(etag: nil, lastModified: date).conditionalFields == [.ifModifiedSince: date])
    }

    @Test("Last-Modified is sent back verbatim, even in an obsolete date format")
    func lastModifiedAsGiven() {
        let text = "Sunday, 06-Nov-94 08:49:37 GMT"
        #expect(Validators(etag: nil, lastModified: text).conditionalFields[.ifModifiedSince] == text)
    }

    @Test(
        "An invalid ETag such as * is not sent in a conditional request, because * would match every version",
        arguments: ["*", "abc", "\"a", ""])
    func invalidETag(text: String) {
        #expect(Validators(etag: text, lastModified: nil).isEmpty)
        #expect(Validators(etag: text, lastModified: nil).conditionalFields.isEmpty)
        #expect(!Validators(etag: text, lastModified: "Thu, 01 Jan 2026 00:00:00 GMT").isEmpty)
    }

    @Test("If a response has several ETag lines, the first line is the validator")
    func ofResponse() {
        var fields = HTTPFields()
        #expect(Validators(fields).isEmpty)
        fields.append(HTTPField(name: .eTag, value: "\"a\""))
        fields.append(HTTPField(name: .eTag, value: "\"b\""))
        #expect(Validators(fields).etag == EntityTag(strong: "a"))
        #expect(Validators(fields).lastModified == nil)
    }
}
