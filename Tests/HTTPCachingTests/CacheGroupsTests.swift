import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("Cache groups")
struct CacheGroupsTests {
    @Test(
        "the groups of an answer (RFC 9875 §2)",
        arguments: [
            ([], []),
            (["\"scripts\""], ["scripts"]),
            (["\"a\", \"b\""], ["a", "b"]),
            (["\"a\"", "\"b\""], ["a", "b"]),
            // Compared character by character; the same one twice is one.
            (["\"a\", \"A\", \"a\""], ["a", "A"]),
            (["\"a, b\", \"q\\\"\\\\\""], ["a, b", "q\"\\"]),
            // Parameters say nothing.
            (["\"a\";revalidate;x=1"], ["a"]),
            // A group without a name is none.
            (["\"\", \"a\""], ["a"]),
            // RFC 8941 §4.2: what cannot be read, or has another type, is ignored as a whole.
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
        "what an answer invalidates depends on the method (RFC 9875 §3, RFC 9110 §9.2.1)",
        arguments: [
            (.get, false), (.head, false), (.options, false), (.trace, false),
            (.post, true), (.put, true), (.patch, true), (.delete, true), (HTTPRequest.Method("FROB")!, true),
        ] as [(HTTPRequest.Method, Bool)])
    func invalidation(method: HTTPRequest.Method, invalidates: Bool) {
        let fields: HTTPFields = [.cacheGroupInvalidation: "\"eurovision-results\", \"kylie-minogue\""]
        let names = CacheGroups(invalidatedBy: fields, method: method).names
        #expect(names == (invalidates ? ["eurovision-results", "kylie-minogue"] : []))
        #expect(CacheGroups(fields).names == [])
    }

    @Test("at least 32 groups of 32 characters count (RFC 9875 §2), and very many or very long ones do not")
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
