import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Readable paths")
struct ReadablePathTests {
    private func path(_ url: String) -> String {
        ReadablePath.path(forURL: url, key: .url(canonical: url))
    }

    private func mark(_ url: String) -> String {
        "~" + CacheKey.url(canonical: url).text
    }

    @Test(
        "The path of a plain URL mirrors the URL, without the key",
        arguments: [
            ("http://example.com/", "QUrlCaches/http/example.com/@index"),
            ("https://example.com/", "QUrlCaches/https/example.com/@index"),
            ("ftp://example.com/pub/file.txt", "QUrlCaches/ftp/example.com/pub/file.txt"),
            ("http://example.com/a", "QUrlCaches/http/example.com/a"),
            ("http://example.com/a/", "QUrlCaches/http/example.com/a/@index"),
            ("http://example.com/a/b", "QUrlCaches/http/example.com/a/b"),
            ("http://example.com:8080/a/b.json", "QUrlCaches/http/example.com_8080/a/b.json"),
            ("http://127.0.0.1:9/x", "QUrlCaches/http/127.0.0.1_9/x"),
            ("http://[::1]/x", "QUrlCaches/http/[::1]/x"),
            ("http://[2001:db8::7]:81/x", "QUrlCaches/http/[2001:db8::7]_81/x"),
            ("http://example.com/?q=1", "QUrlCaches/http/example.com/@index?q=1"),
            ("http://example.com/a?q=1&r=x+y", "QUrlCaches/http/example.com/a?q=1&r=x+y"),
            ("http://example.com/a?q=1?r", "QUrlCaches/http/example.com/a?q=1?r"),
            ("http://example.com/a?u=http://b/c", "QUrlCaches/http/example.com/a?u=http:%2f%2fb%2fc"),
            ("http://example.com/a%2Fb", "QUrlCaches/http/example.com/a%2Fb"),
            ("http://example.com/%C3%A9/%FF%00", "QUrlCaches/http/example.com/%C3%A9/%FF%00"),
            ("http://example.com/a?%c3%A9", "QUrlCaches/http/example.com/a?%c3%A9"),
            ("http://example.com/~user/x~1", "QUrlCaches/http/example.com/~user/x~1"),
            ("http://example.com/...", "QUrlCaches/http/example.com/..."),
            ("http://example.com/@index/a", "QUrlCaches/http/example.com/@index/a"),
        ])
    func plain(url: String, expected: String) {
        #expect(path(url) == expected)
    }

    @Test(
        "The path of a URL ends in the key if a name in it was replaced, or could belong to another URL",
        arguments: [
            ("http://example.com/a//b", "QUrlCaches/http/example.com/a/@empty/b"),
            ("http://example.com//", "QUrlCaches/http/example.com/@empty/@index"),
            ("http://example.com/@empty/b", "QUrlCaches/http/example.com/@empty/b"),
            ("http://example.com/@index", "QUrlCaches/http/example.com/@index"),
            ("http://example.com/@index?q", "QUrlCaches/http/example.com/@index?q"),
            ("http://example.com/a?b%2fc", "QUrlCaches/http/example.com/a?b%2fc"),
            ("http://a_80/x", "QUrlCaches/http/a_80/x"),
            (
                "http://example.com/a~d41d8cd98f00b204e9800998ecf8427e",
                "QUrlCaches/http/example.com/a~d41d8cd98f00b204e9800998ecf8427e"
            ),
            (
                "http://example.com/a~d41d8cd98f00b204e9800998ecf8427e/b",
                "QUrlCaches/http/example.com/a%7Ed41d8cd98f00b204e9800998ecf8427e/b"
            ),
            (
                "http://example.com/a~d41d8cd98f00b204e9800998ecf8427e.01234567/b",
                "QUrlCaches/http/example.com/a%7Ed41d8cd98f00b204e9800998ecf8427e.01234567/b"
            ),
            // URLs that are not canonical get a path inside the root, too.
            ("http://example.com/../b", "QUrlCaches/http/example.com/%2E%2E/b"),
            ("http://example.com/./..", "QUrlCaches/http/example.com/%2E/%2E%2E"),
            ("http://../b", "QUrlCaches/http/%2E%2E/b"),
            ("http://example.com", "QUrlCaches/http/example.com/@index"),
            ("http://example.com?q", "QUrlCaches/http/example.com/@index?q"),
            ("http://example.com/a?%2f\u{301}", "QUrlCaches/http/example.com/a?%2f\u{301}"),
            ("http://example.com/a\0b", "QUrlCaches/http/example.com/a%00b"),
            ("", "QUrlCaches/@empty/@empty/@index"),
        ])
    func marked(url: String, expected: String) {
        #expect(path(url) == expected + mark(url))
    }

    @Test("A file name over 255 bytes is cut so that the key fits behind it")
    func longLeaf() {
        let url = "http://example.com/" + String(repeating: "a", count: 256)
        #expect(path(url) == "QUrlCaches/http/example.com/" + String(repeating: "a", count: 222) + mark(url))
        let fits = "http://example.com/" + String(repeating: "a", count: 255)
        #expect(path(fits) == "QUrlCaches/http/example.com/" + String(repeating: "a", count: 255))
    }

    @Test("A file name that is too long because of the query of its URL is cut")
    func longQuery() {
        let url = "http://example.com/leaf?" + String(repeating: "q", count: 8000)
        #expect(path(url) == "QUrlCaches/http/example.com/leaf?" + String(repeating: "q", count: 217) + mark(url))
    }

    @Test("A long name is not cut in the middle of a percent-escape", arguments: [219, 220, 221, 222])
    func cutBeforeEscape(start: Int) {
        let url = "http://example.com/" + String(repeating: "a", count: start) + String(repeating: "%FF", count: 20)
        let kept = (222 - start) / 3 * 3
        let name = String(repeating: "a", count: start) + String(repeating: "%FF", count: kept / 3)
        #expect(path(url) == "QUrlCaches/http/example.com/" + name + mark(url))
    }

    @Test("A directory's name over 255 bytes is cut, and the file's name ends in the key")
    func longDirectory() {
        let long = String(repeating: "d", count: 300)
        let url = "http://example.com/\(long)/b"
        #expect(path(url) == "QUrlCaches/http/example.com/" + String(repeating: "d", count: 255) + "/b" + mark(url))
        #expect(path(url) != path("http://example.com/\(long)d/b"))
    }

    @Test("A path that is too deep or too long loses inner directories, and keeps its outer directories and its leaf")
    func tooDeep() {
        let deep = "http://example.com" + String(repeating: "/d", count: 4000) + "/leaf"
        let components = path(deep).split(separator: "/").map(String.init)
        #expect(components.count == ReadablePath.maximumDepth)
        #expect(components.last == "leaf" + mark(deep))
        let long =
            "http://example.com" + String(repeating: "/" + String(repeating: "d", count: 200), count: 30) + "/leaf"
        #expect(path(long).utf8.count <= ReadablePath.maximumLength)
        #expect(path(long).hasSuffix("/leaf" + mark(long)))
    }

    @Test("A download with request fields does not share the file of the URL")
    func requestFields() {
        let url = "http://example.com/a"
        let key = CacheKey.url(canonical: url, requestFields: [("accept", "text/html")])
        #expect(ReadablePath.path(forURL: url, key: key) == "QUrlCaches/http/example.com/a~" + key.text)
    }

    @Test("A caller's key is used as a file name unchanged")
    func dataKeys() throws {
        for text in ["config", "Größe", "..a", "a b", "@index", String(repeating: "k", count: 255)] {
            #expect(ReadablePath.path(forData: try CacheKey.data(text)) == "QDataCaches/" + text)
        }
    }

    @Test("The file name of a caller's key that ends in ~ and an MD5 is cut, and gets the MD5 of the key appended")
    func markedDataKeys() throws {
        let tail = "~d41d8cd98f00b204e9800998ecf8427e"
        let key = try CacheKey.data(String(repeating: "é", count: 111) + tail)
        let expected = String(repeating: "é", count: 111) + "~" + key.md5Hex
        #expect(ReadablePath.path(forData: key) == "QDataCaches/" + expected)
        let odd = try CacheKey.data("x" + String(repeating: "é", count: 110) + "y" + tail)
        #expect(
            ReadablePath.path(forData: odd) == "QDataCaches/x" + String(repeating: "é", count: 110) + "y~" + odd.md5Hex)
    }

    @Test("When a directory needs the name of a body, the body's name is extended by its key")
    func alternative() {
        let key = CacheKey.url(canonical: "http://example.com/a")
        let plain = "QUrlCaches/http/example.com/a"
        #expect(ReadablePath.alternative(for: plain, key: key) == plain + "~" + key.text)
        #expect(ReadablePath.alternative(for: plain + "~" + key.text, key: key) == plain + "~" + key.text)
        let long = "QUrlCaches/http/" + String(repeating: "a", count: 255)
        #expect(
            ReadablePath.alternative(for: long, key: key)
                == "QUrlCaches/http/" + String(repeating: "a", count: 222) + "~" + key.text)
    }

    @Test("The alternative paths of a body all differ, and no name in them is longer than 255 bytes")
    func candidates() throws {
        let urls = [
            "http://h/a", "http://h/" + String(repeating: "a", count: 255),
            "http://h/" + String(repeating: "%C3", count: 200),
        ]
        var bodies = urls.map { (key: CacheKey.url(canonical: $0), url: Optional($0)) }
        bodies.append((try .data(String(repeating: "é", count: 127)), nil))
        for (key, url) in bodies {
            for layout in Layout.allCases {
                let path = layout.path(for: key, url: url)
                let others = Array(PathCandidates(besides: path, key: key))
                #expect(!others.contains(path))
                for paths in [Array(PathCandidates(layout: layout, key: key, url: url)), others] {
                    #expect(paths.count > 900 && Set(paths).count == paths.count)
                    #expect(paths.allSatisfy { $0.split(separator: "/").allSatisfy { $0.utf8.count <= 255 } })
                    #expect(paths.dropFirst(2).allSatisfy { $0.contains(key.hashedName + "~") })
                }
            }
        }
        let marked = String(repeating: "a", count: 222) + "~" + CacheKey.url(canonical: urls[1]).text
        let cut = String(repeating: "a", count: 220) + "~" + CacheKey.url(canonical: urls[1]).text
        let paths = PathCandidates(layout: .readable, key: .url(canonical: urls[1]), url: urls[1]).prefix(3)
        #expect(Array(paths.dropFirst()) == ["QUrlCaches/http/h/" + marked, "QUrlCaches/http/h/" + cut + "~1"])
    }

    @Test("A name is extended by its key only once, even after a character that Swift joins with the ~")
    func alternativeBehindAPrependedSign() throws {
        let key = try CacheKey.data("a\u{601}")
        let marked = "QDataCaches/a\u{601}~" + key.md5Hex
        #expect(ReadablePath.alternative(for: ReadablePath.path(forData: key), key: key) == marked)
        #expect(ReadablePath.alternative(for: marked, key: key) == marked)
    }

    @Test("Different canonical URLs have different paths")
    func injective() {
        var generator = SplitMix64(seed: 7)
        let pieces = [
            "a", "b", "A", "/", "/", "//", "@index", "@empty", "~", "%7E", "%2F", "%2f", "%40", "?", "?", "&", "=",
            "_80",
            ":80", "d41d8cd98f00b204e9800998ecf8427e", ".01234567", "..", "%", "%FF",
            String(repeating: "x", count: 130),
        ]
        var urls: [String: String] = [:]
        var accepted = 0
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...7, using: &generator)
            let text = (0..<count).map { _ in pieces.randomElement(using: &generator)! }.joined()
            guard let url = try? CanonicalURL("http://h/" + text).string else { continue }
            accepted += 1
            let path = path(url)
            if let other = urls[path] { #expect(other == url, "both URLs have the path \(path)") }
            urls[path] = url
        }
        #expect(accepted > 5000)
    }

    @Test("No file or directory of a canonical URL ends in ~ and the key of another URL")
    func noImpostor() {
        let victim = CacheKey.url(canonical: "http://h/a")
        for url in ["http://h/a~\(victim.text)", "http://h/a~\(victim.text)/b"] {
            let components = path(url).split(separator: "/")
            #expect(!components.contains { $0.hasSuffix("~" + victim.text) })
        }
    }
}
