import Testing

@testable import Primitives

@Suite("Exact URLs")
struct ExactURLTests {
    @Test(
        "An exact URL keeps its target byte for byte, and its scheme and authority get one spelling",
        arguments: [
            ("http://h/a", "http://h/a"), ("HTTP://EXAMPLE.com/A", "http://example.com/A"),
            ("http://h", "http://h/"), ("http://h?q", "http://h/?q"), ("http://h#f", "http://h/"),
            ("http://h/?", "http://h/?"), ("http://h/a#f/?", "http://h/a"), ("http://h:80/", "http://h/"),
            ("https://h:443/x", "https://h/x"), ("http://h:8080/x", "http://h:8080/x"), ("http://h:/x", "http://h/x"),
            ("http://[2001:DB8::A]:81/x", "http://[2001:db8::a]:81/x"), ("http://127.1/", "http://127.0.0.1/"),
            ("http://ex%61mple.com/%61", "http://example.com/%61"), ("http://h/../a//b/./c", "http://h/../a//b/./c"),
            ("http://bücher.example/ü", "http://xn--bcher-kva.example/%C3%BC"), ("http:/h/a", "http://h/a"),
            ("HTTP:/h/a", "http://h/a"), ("http://h/a:b@c//d", "http://h/a:b@c//d"), ("http://h/\\", "http://h/\\"),
        ])
    func spelling(text: String, exact: String) throws {
        // The second round finds the site in the table.
        for _ in 0..<2 {
            let url = try ExactURL(text)
            #expect(url.string == exact)
            #expect(url.site + url.target == exact && url.scheme + "://" + url.authority == url.site)
        }
    }

    @Test(
        "A text that is not an http or https URL is refused, with the same reason at a second try",
        arguments: [
            ("", InvalidURL.relative), ("/a", .relative), ("h/a:b", .relative), ("h:80/a", .unsupportedScheme("h")),
            ("mailto:x", .unsupportedScheme("mailto")), ("ftp://h/", .notHTTP("ftp")), ("http:x/y", .noHost),
            ("http://", .noHost), ("http:///x", .noHost), ("http://?q", .noHost), ("http://u@h/", .credentials),
            ("http://u:p@h/", .credentials), ("http://h\\x/", .badHost), ("http://h%00/", .badHost),
            ("http://a b/", .space), ("http://h/a b", .space), ("http://h/\u{0}", .controlCharacter),
            ("http://h/ \n", .controlCharacter), ("http://h:99999/", .badPort),
            ("http://h/" + String(repeating: "a", count: 8192), .tooLong(limit: 8192)),
        ])
    func refused(text: String, reason: InvalidURL) {
        for _ in 0..<2 {
            #expect(throws: reason) { try ExactURL(text) }
        }
    }

    @Test(
        "Until the table is full, a scheme with an authority is parsed once; one over 300 bytes is parsed at each use"
    )
    func known() throws {
        let sites = KnownSites()
        var reads = 0
        func look(_ name: String) throws -> String {
            try sites.site(name) { _ throws(InvalidURL) in
                reads += 1
                return KnownSites.Site(scheme: "http", authority: name)
            }.text
        }
        for _ in 0..<2 { #expect(try look("a") == "http://a") }
        #expect(reads == 1)
        // The table compares bytes: é in two spellings is two names.
        #expect(try look("\u{e9}").utf8.count == 9 && look("e\u{301}").utf8.count == 10)
        let long = String(repeating: "l", count: 301)
        for _ in 0..<2 { _ = try look(long) }
        #expect(reads == 5)
        for number in 0..<1000 { _ = try look("\(number)") }
        reads = 0
        #expect(try look("a") == "http://a")
        #expect(reads == 1)
        #expect(throws: InvalidURL.badHost) { try sites.site("bad") { _ throws(InvalidURL) in throw .badHost } }
        #expect(try look("bad") == "http://bad")
    }
}
