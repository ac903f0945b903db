import Primitives
import Testing

@Suite("Paths of URLs")
struct URLPathTests {
    @Test(
        "Any text becomes one path segment, with all but unreserved characters escaped (RFC 3986 §2.3)",
        arguments: [
            ("", ""), ("azAZ09-._~", "azAZ09-._~"), ("a b+c", "a%20b%2Bc"), ("a/b?c#d%2F", "a%2Fb%3Fc%23d%252F"),
            ("é日", "%C3%A9%E6%97%A5"), ("/\u{301}", "%2F%CC%81"), ("\0\u{7f}", "%00%7F"),
            ("!*'()@:", "%21%2A%27%28%29%40%3A"),
        ])
    func segment(text: String, expected: String) {
        #expect(URLPath.escapedSegment(text) == expected)
    }
}
