import Testing

@testable import DiskCache

@Suite("The parts of a URL")
struct URLPartsTests {
    @Test(
        "Any text is split into scheme, host, port, path segments and query",
        arguments: [
            ("http://h/a/b?q#r", "http", "h", nil, ["a", "b"], "q#r"),
            ("https://h:8443/", "https", "h", "8443", [""], nil),
            ("http://[::1]:80/x", "http", "[::1]", "80", ["x"], nil),
            ("http://[::1]/x", "http", "[::1]", nil, ["x"], nil),
            ("http://:80/x", "http", "", "80", ["x"], nil),
            ("http://80/", "http", "80", nil, [""], nil),
            ("http://h:/x", "http", "h:", nil, ["x"], nil),
            ("http://h?q", "http", "h", nil, [""], "q"),
            ("://x", "", "x", nil, [""], nil),
            ("h:80/a", "", "h", "80", ["a"], nil),
            ("", "", "", nil, [""], nil),
        ] as [(String, String, String, String?, [String], String?)])
    func parts(url: String, scheme: String, host: String, port: String?, segments: [String], query: String?) {
        let parts = URLParts(url)
        #expect(parts.scheme == scheme)
        #expect(parts.host == host)
        #expect(parts.port == port)
        #expect(parts.segments == segments)
        #expect(parts.query == query)
        #expect(URLParts.host(of: url) == host)
    }
}
