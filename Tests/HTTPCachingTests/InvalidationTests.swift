import HTTPTypes
import Primitives
import Testing

@testable import HTTPCaching

@Suite("The URLs that an unsafe request invalidates (RFC 9111 §4.4)")
struct InvalidationTests {
    private func urls(
        _ method: String, _ status: Int, _ lines: [String] = [], url: String = Sample.url
    ) -> [String] {
        Invalidation.urls(method: HTTPRequest.Method(method)!, url: url, answer: Sample.answer(status, lines))
    }

    @Test(
        "Unsafe and unknown methods invalidate their target, safe methods do not",
        arguments: [
            ("POST", true), ("PUT", true), ("DELETE", true), ("PATCH", true), ("MKCOL", true), ("M-SEARCH", true),
            ("BREW", true), ("get", true),
            // Safe methods: RFC 9110 §9.2.1, RFC 4918 §9.1, RFC 3253 §3.6, RFC 5323 §2.
            ("GET", false), ("HEAD", false), ("OPTIONS", false), ("TRACE", false), ("PROPFIND", false),
            ("REPORT", false), ("SEARCH", false), ("QUERY", false),
        ])
    func methods(method: String, isUnsafe: Bool) {
        #expect(urls(method, 200) == (isUnsafe ? [Sample.url] : []))
        #expect(urls(method, 200, ["Location: /x"]).count == (isUnsafe ? 2 : 0))
    }

    @Test(
        "An answer to an unsafe request invalidates the target only if the answer's status is not an error",
        arguments: [
            (200, true), (201, true), (204, true), (299, true), (301, true), (303, true), (399, true),
            (400, false), (404, false), (412, false), (500, false), (503, false), (599, false),
        ])
    func statuses(status: Int, isInvalidating: Bool) {
        #expect(urls("POST", status, ["Location: /x"]).isEmpty == !isInvalidating)
    }

    @Test(
        "The URLs in Location and Content-Location are invalidated only if they have the target's origin",
        arguments: [
            (["Location: http://origin.example/other"], ["http://origin.example/other"]),
            (["Content-Location: http://origin.example/other"], ["http://origin.example/other"]),
            (["Location: /a", "Content-Location: /b"], ["http://origin.example/a", "http://origin.example/b"]),
            (["Location: /a", "Content-Location: /a"], ["http://origin.example/a"]),
            (["Location: /thing"], []),
            (["Location: HTTP://ORIGIN.example:80/Other#top"], ["http://origin.example/Other"]),
            (["Location: //origin.example/other"], ["http://origin.example/other"]),
            // RFC 9110 §4.3.1: a URL with another scheme, host or port has another origin.
            (["Location: http://other.example/other"], []),
            (["Location: https://origin.example/other"], []),
            (["Location: http://origin.example:81/other"], []),
            (["Location: //other.example/other"], []),
            (["Location: http://user@origin.example/other"], []),
            (["Location: ftp://origin.example/other"], []),
            (["Location: mailto:a@origin.example"], []),
            (["Location: http:other"], []),
            (["Location: http:///other"], []),
            (["Location: http://origin.example:80:80/other"], []),
            (["Location: http://origin.example::/other"], []),
            (["Location:"], []),
            (["Link: </other>"], []),
        ])
    func locations(lines: [String], others: [String]) {
        #expect(urls("POST", 201, lines) == [Sample.url] + others)
    }

    @Test(
        "A relative Location is resolved as in RFC 3986 §5.4, and keeps its spelling",
        arguments: [
            ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
            ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q"), ("g#s", "http://a/b/c/g"), ("g?y#s", "http://a/b/c/g?y"),
            (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"), ("../", "http://a/b/"),
            ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../g", "http://a/g"),
            // RFC 3986 §5.4.2: abnormal examples.
            ("../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."),
            (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."), ("./../g", "http://a/b/g"),
            ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"),
            ("g?y/../x", "http://a/b/c/g?y/../x"),
            // Escapes, double slashes and queries keep their spelling; host, port and an empty path are normalised.
            ("?", "http://a/b/c/d;p?"), ("g%2Fh//i", "http://a/b/c/g%2Fh//i"), ("g?a:b", "http://a/b/c/g?a:b"),
            ("/g?http://x", "http://a/g?http://x"), ("http://a", "http://a/"), ("http://a?x", "http://a/?x"),
            ("http://A:/g", "http://a/g"), ("http://[::1]:80/g", "http://[::1]/g"), (" /g\t", "http://a/g"),
            // A combining accent behind a slash does not hide the slash.
            ("/\u{301}/../g", "http://a/g"), ("../\u{301}", "http://a/b/\u{301}"),
        ])
    func references(reference: String, expected: String) throws {
        let base = try #require(TargetURI("http://a/b/c/d;p?q#f"))
        #expect(base.resolve(reference)?.text == expected)
    }

    @Test("An unsafe request to a target that is not an http URI invalidates only the target")
    func oddTarget() {
        #expect(urls("POST", 200, ["Location: /x"], url: "urn:x") == ["urn:x"])
    }
}
