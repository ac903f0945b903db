import Primitives
import Testing

@testable import WebArchive

@Suite("URLs as browsers read them")
struct WebURLTests {
    @Test(
        "A reference resolves against http://h.example/a/b?c",
        arguments: [
            ("d", "http://h.example/a/d"), ("/d", "http://h.example/d"), ("//i.example/d", "http://i.example/d"),
            ("?d", "http://h.example/a/b?d"), ("#d", "http://h.example/a/b?c"), ("", "http://h.example/a/b?c"),
            ("../d", "http://h.example/d"), ("../../../d", "http://h.example/d"),
            ("./d/./e/../f", "http://h.example/a/d/f"),
            ("d/..", "http://h.example/a/"), (".", "http://h.example/a/"), ("%2e%2E/d", "http://h.example/d"),
            ("\\d\\e", "http://h.example/d/e"), ("\\\\i.example\\d", "http://i.example/d"),
            ("http:d", "http://h.example/a/d"),
            ("https:d", "https://d/"), ("https:/d", "https://d/"), ("HTTP://I.EXAMPLE:80", "http://i.example/"),
            ("https://i.example:443/d", "https://i.example/d"), ("http://i.example:8080/d", "http://i.example:8080/d"),
            (" d\t\n e ", "http://h.example/a/d%20e"), ("d e", "http://h.example/a/d%20e"),
            ("日", "http://h.example/a/%E6%97%A5"),
            ("?日", "http://h.example/a/b?%E6%97%A5"), ("d%zz", "http://h.example/a/d%zz"),
            ("http://ü.example/", "http://xn--tda.example/"),
            ("http://[::1]:81/d", "http://[::1]:81/d"), ("http://[::FFFF:1.2.3.4]/", "http://[::ffff:1.2.3.4]/"),
            ("http://[::ffff:102:304]/", "http://[::ffff:1.2.3.4]/"),
            ("http://127.1/d", "http://127.0.0.1/d"),
            ("d\"<>", "http://h.example/a/d%22%3C%3E"),
            ("?a'b", "http://h.example/a/b?a%27b"), ("ftp://i.example/d", "ftp://i.example/d"),
            ("d//e", "http://h.example/a/d//e"),
            ("//a!b.example/", "http://a!b.example/"), ("http://i.example.:00080/", "http://i.example./"),
            ("http://0x7f000001/", "http://127.0.0.1/"), ("http://::1:80/", "-"), ("http://a b/", "-"), ("a:b", "-"),
            ("data:x", "-"), ("javascript:x", "-"), ("java\tscript:x", "-"), ("mailto:a@b", "-"),
            ("http://u:p@i.example/", "-"), ("http://", "-"), ("http://i.example:99999/", "-"),
            ("blob:http://x/y", "-"),
        ])
    func resolving(text: String, expected: String) throws {
        let base = try #require(WebURL("http://h.example/a/b?c"))
        #expect(WebURL(text, relativeTo: base)?.text ?? "-" == expected)
    }

    @Test("The fragment is kept apart")
    func fragment() throws {
        let url = try #require(WebURL("http://h.example/a?b#c d"))
        #expect(url.text == "http://h.example/a?b")
        #expect(url.fragment == "#c%20d")
    }

    @Test("The parts of a URL that was resolved against a base are those of its text")
    func parts() throws {
        let base = try #require(WebURL("https://h.example:8080/a/b?c"))
        for text in ["../d?e#f", "?e", "", "//i.example", "/d/", "https:d"] {
            let url = try #require(WebURL(text, relativeTo: base))
            #expect(url.scheme + "://" + url.authority + url.path + url.query == url.text)
            #expect(url.origin == url.scheme + "://" + url.authority)
            #expect(WebURL(url.text + url.fragment) == url)
        }
        let url = try #require(WebURL("../d?e#f", relativeTo: base))
        #expect(url.authority == "h.example:8080")
        #expect(url.path == "/d")
        #expect(url.query == "?e")
    }

    @Test("Without a base only an absolute URL is a URL")
    func absolute() {
        #expect(WebURL("/a") == nil)
        #expect(WebURL("//h.example/") == nil)
        #expect(WebURL("http://h.example")?.text == "http://h.example/")
    }

    @Test("The query of a Shift_JIS document has the document's encoding, and its path is UTF-8")
    func legacyQuery() throws {
        let encoding = try #require(TextEncoding(label: "Shift_JIS"))
        let url = try #require(WebURL("http://h.example/日?日€&", encoding: encoding))
        #expect(url.text == "http://h.example/%E6%97%A5?%93%FA%26%238364%3B&")
    }

    @Test("A URL that is too long only with its escapes is no URL")
    func escapedLength() throws {
        let base = try #require(WebURL("http://h.example/"))
        #expect(WebURL(String(repeating: "{", count: 2800), relativeTo: base) == nil)
        #expect(WebURL("#" + String(repeating: "{", count: 2800), relativeTo: base) != nil)
        let url = try #require(WebURL(String(repeating: "{", count: 2700), relativeTo: base))
        #expect(WebURL(url.text) == url)
    }
}
