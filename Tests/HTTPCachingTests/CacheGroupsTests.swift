import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("Cache groups")
struct CacheGroupsTests {
    @Test(
        "Cache-Groups is parsed into the distinct group names of an answer (RFC 9875 §2)",
        arguments: [
            ([], []),
            (["\"scripts\""], ["scripts"]),
            (["\"a\", \"b\""], ["a", "b"]),
            (["\"a\"", "\"b\""], ["a", "b"]),
            // Names are compared character by character, and a duplicate counts once.
            (["\"a\", \"A\", \"a\""], ["a", "A"]),
            (["\"a, b\", \"q\\\"\\\\\""], ["a, b", "q\"\\"]),
            // Parameters are ignored.
            (["\"a\";revalidate;x=1"], ["a"]),
            // An empty name is ignored.
            (["\"\", \"a\""], ["a"]),
            // RFC 8941 §4.2: a field that is unreadable or has another type is ignored as a whole.
            ([""], []),
            (["scripts"], []),
            (["\"a\", b"], []),
            (["\"a\", 1"], []),
            (["\"a\", (\"b\")"], []),
            (["\"a\","], []),
            (["\"a\" \"b\""], []),
            (["\"a"], []),
            (["\"é\""], []),
            (["\"a\"", "b"], []),
        ] as [([String], [String])])
    func groups(lines: [String], names: [String]) {
        let fields = HTTPFields(lines.map { HTTPField(name: .cacheGroups, value: $0) })
        #expect(CacheGroups(fields).names == names)
        #expect(CacheGroups(invalidatedBy: fields, method: .post).names == [])
    }

    @Test(
        "Only an answer to an unsafe method invalidates groups (RFC 9875 §3, RFC 9110 §9.2.1, IANA's registry)",
        arguments: [
            (.get, false), (.head, false), (.options, false), (.trace, false),
            (HTTPRequest.Method("PROPFIND")!, false), (HTTPRequest.Method("REPORT")!, false),
            (HTTPRequest.Method("SEARCH")!, false), (HTTPRequest.Method("QUERY")!, false),
            (.post, true), (.put, true), (.patch, true), (.delete, true), (HTTPRequest.Method("FROB")!, true),
        ] as [(HTTPRequest.Method, Bool)])
    func invalidation(method: HTTPRequest.Method, invalidates: Bool) {
        let fields: HTTPFields = [.cacheGroupInvalidation: "\"eurovision-results\", \"kylie-minogue\""]
        let names = CacheGroups(invalidatedBy: fields, method: method).names
        #expect(names == (invalidates ? ["eurovision-results", "kylie-minogue"] : []))
        #expect(CacheGroups(fields).names == [])
    }

    @Test("Larder keeps 32 groups of 32 characters (RFC 9875 §2), and ignores excess groups and overlong names")
    func limits() {
        func names(_ count: Int, length: Int) -> [String] {
            let value = (0..<count).map { number in
                "\"\(String(repeating: "x", count: length - 4))\(1000 + number)\""
            }
            return CacheGroups([.cacheGroups: value.joined(separator: ", ")]).names
        }
        #expect(names(32, length: 32).count == 32)
        #expect(names(1000, length: 8).count == CacheGroups.maximumCount)
        #expect(names(1, length: CacheGroups.maximumLength).count == 1)
        #expect(names(1, length: CacheGroups.maximumLength + 1).isEmpty)
    }
}
