import Testing

@testable import Primitives

@Suite("Prefixes of canonical URLs")
struct URLPrefixTests {
    @Test(
        "A URL prefix in any spelling becomes the beginning of the canonical URL",
        arguments: [
            ("http://b\u{FC}cher.example/", "http://xn--bcher-kva.example/"),
            ("HTTP://B\u{DC}CHER.EXAMPLE/A", "http://xn--bcher-kva.example/A"),
            ("http://example.com:80/a", "http://example.com/a"), ("https://example.com:443/", "https://example.com/"),
            ("http://example.com:0080/", "http://example.com/"), ("http://example.com:443/", "http://example.com:443/"),
            ("http://example.com:/a", "http://example.com/a"), ("ftp://example.com:21/", "ftp://example.com/"),
            ("http://127.1/a", "http://127.0.0.1/a"), ("http://[0:0::1]:9/y", "http://[::1]:9/y"),
            ("http://h/m\u{FC}n", "http://h/m%C3%BCn"), ("http://h/m%c3%bcn", "http://h/m%C3%BCn"),
            ("http://h/%61%2f", "http://h/a%2F"), ("http://h/./m", "http://h/m"), ("http://h/a/../m", "http://h/m"),
            ("http://h/a/%2e%2E/m", "http://h/m"), ("http://h/../m", "http://h/m"), ("http://h/a/..", ""),
            ("http://h/a/.well", "http://h/a/.well"), ("http://h/...", "http://h/..."),
            ("http://h/a//b", "http://h/a//b"), ("http://h/a/../", "http://h/"), ("http://h/a/./?x", "http://h/a/?x"),
            ("http://h/a/..?", "http://h/?"), ("http://h?x=\u{FC}", "http://h/?x=%C3%BC"),
            ("http://h/?x=%c3", "http://h/?x=%C3"), ("http://h/?x=%7e%41%2f", "http://h/?x=~A%2F"),
            ("http://h/?a=/../b", "http://h/?a=/../b"),
            ("http://h./a", "http://h/a"), ("http://[::ffff:102:304]:9/y", "http://[::ffff:1.2.3.4]:9/y"),
            // A prefix may end before the path: in the scheme, the host or the port.
            ("HTTP", "http"), ("Https:/", "https:/"), ("http://", "http://"), ("HTTPS://", "https://"),
            ("http://Exam", "http://exam"),
            ("http://192.168.", "http://192.168."), ("http://example.com:9", "http://example.com:9"),
            ("http://[::1]", "http://[::1]"), ("http://example.com", "http://example.com"),
        ])
    func spelled(text: String, prefix: String) throws {
        guard !prefix.isEmpty else {
            #expect(throws: InvalidURLPrefix.dotSegment) { try URLPrefix(text) }
            return
        }
        #expect(try URLPrefix(text).string == prefix)
        // The result, as a prefix, yields itself.
        #expect(try URLPrefix(prefix).string == prefix)
    }

    @Test("A prefix that ends in a dot of the host matches longer host names and the host itself without the dot")
    func dotAtEnd() throws {
        #expect(try URLPrefix("http://Example.").strings == ["http://example.", "http://example/", "http://example:"])
        #expect(try URLPrefix("http://192.168.").strings == ["http://192.168."])
        #expect(try URLPrefix("http://h./").strings == ["http://h/"])
    }

    @Test(
        "A prefix without a slash matches URLs with the same scheme, host and port, in any spelling",
        arguments: [
            ("HTTP", ["http"]), ("Https:", ["https:"]), ("ftp", ["ftp"]), ("h", ["h"]), ("H", ["H"]),
            ("note", ["note"]),
            ("http:a.example", ["http://a.example", "http:a.example"]),
            ("HTTP:\\\\A.example\\", ["http://a.example/", "HTTP:\\\\A.example\\"]),
            ("http:b\u{FC}cher.example", ["http://xn--bcher-kva.example/", "http:b\u{FC}cher.example"]),
            ("http:a b", ["http:a b"]), ("build:17", ["build:17"]), ("a.example:", ["a.example:"]),
            (
                "127.0.0.1:21116",
                ["ftp://127.0.0.1:21116", "http://127.0.0.1:21116", "https://127.0.0.1:21116", "127.0.0.1:21116"]
            ),
            (
                "A.example:80",
                ["ftp://a.example:80", "http://a.example/", "https://a.example:80", "A.example:80"]
            ),
            ("[::1]:9", ["ftp://[::1]:9", "http://[::1]:9", "https://[::1]:9", "[::1]:9"]),
            ("localhost:9", ["ftp://localhost:9", "http://localhost:9", "https://localhost:9", "localhost:9"]),
        ])
    func slashless(text: String, beginnings: [String]) {
        #expect(URLPrefix.beginnings(withoutSlash: text) == beginnings)
    }

    @Test(
        "A URL prefix is refused if it is ambiguous, or if no URL can begin with it",
        arguments: [
            ("example.com/", InvalidURLPrefix.noScheme), ("//example.com/", .noScheme), ("file:///etc", .noScheme),
            ("http:/example.com", .noScheme), ("/a", .noScheme), ("http://h/a#b", .fragment),
            ("http://h/%", .brokenEscape), ("http://h/%c", .brokenEscape), ("http://h/%zz", .brokenEscape),
            ("http://h/?x=%c", .brokenEscape), ("http://h/.", .dotSegment), ("http://h/a/%2e%2e", .dotSegment),
            ("http://user@h", .incompleteHost), ("http://[::1", .incompleteHost),
            ("http://h\u{FC}\u{200B}*", .incompleteHost),
            ("http://ex%61", .otherHost("http://exa/")),
            ("http://b\u{FC}cher.example", .otherHost("http://xn--bcher-kva.example/")),
            ("http://example.com:80", .otherHost("http://example.com/")),
            ("http://example.com:", .otherHost("http://example.com/")), ("http://10.1", .otherHost("http://10.0.0.1/")),
            ("http://[0:0::1]", .otherHost("http://[::1]/")), ("http://h/a b", .url(.space)),
            ("http://h/\u{1}", .url(.controlCharacter)), ("http://user@h/", .url(.credentials)),
            ("http:///a", .url(.noHost)), ("http://h:x/", .url(.badPort)), ("", .url(.relative)),
        ])
    func refused(text: String, error: InvalidURLPrefix) {
        #expect(throws: error) { try URLPrefix(text) }
        #expect(!error.description.isEmpty)
    }

    /// Without the refusal, a purge by this prefix would remove no entry, and report no error.
    @Test(
        "A URL prefix without a slash is refused if no URL can begin with it",
        arguments: [
            ("http://[::1].", InvalidURLPrefix.url(.badPort)), ("http://[::1]x", .url(.badPort)),
            ("http://h:99999", .url(.badPort)), ("http://h:x", .url(.badPort)), ("http://h:8o", .url(.badPort)),
            ("http://[zz]", .incompleteHost), ("http://[]", .incompleteHost), ("http://[1::2::3]", .incompleteHost),
            ("http://a~b", .incompleteHost), ("http://.", .incompleteHost), ("http://a..", .incompleteHost),
            ("http://:8", .incompleteHost), ("http://a.:8", .otherHost("http://a:8/")),
            ("http://127%2e1", .otherHost("http://127.0.0.1/")),
            ("http://" + String(repeating: "a", count: 8185), .url(.tooLong(limit: 8192))),
        ])
    func slashlessNothing(text: String, error: InvalidURLPrefix) {
        #expect(throws: error) { try URLPrefix(text) }
    }

    @Test(
        "A host in any spelling becomes the canonical host, without the dot at its end",
        arguments: [
            ("b\u{FC}cher.example", "xn--bcher-kva.example"), ("xn--bcher-kva.example.", "xn--bcher-kva.example"),
            ("B\u{DC}CHER.Example.", "xn--bcher-kva.example"), ("EXAMPLE.com", "example.com"), ("::1", "[::1]"),
            ("[::1]", "[::1]"), ("0:0:0:0:0:0:0:1", "[::1]"), ("2001:DB8::A", "[2001:db8::a]"),
            ("127.0.0.1", "127.0.0.1"), ("127.1", "127.0.0.1"), ("127.1.", "127.0.0.1"),
            ("::ffff:102:304", "[::ffff:1.2.3.4]"),
            ("::102:304", "[::1.2.3.4]"), ("64:ff9b::1.2.3.4", "[64:ff9b::102:304]"), ("0x7f000001", "127.0.0.1"),
            ("ex%61mple", "example"),
        ])
    func hosts(text: String, host: String) throws {
        #expect(try CanonicalURL.host(text) == host)
    }

    @Test(
        "A text is refused as a host if it is not a host alone",
        arguments: [
            "127.0.0.1:80", "example.com:", "[::1]:9", "a/b", "a?b", "a#b", "u@h", "a b", "", "[::1", "a*b", "[]", ".",
            "a..",
            "fe80::1%eth0", "[fe80::1%25eth0]", "::1::",
        ])
    func noHosts(text: String) {
        #expect(throws: InvalidURLPrefix.self) { try CanonicalURL.host(text) }
    }
}
