import Foundation
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The places of bodies")
struct PlacingTests {
    private func bodies(_ fixture: CacheFixture) -> [String] {
        files(below: fixture.namespace).filter { $0.hasPrefix("Q") || $0.dropFirst(2).hasPrefix("/") }
    }

    @Test("The directory tree of the readable layout mirrors the URLs, whichever URL is stored first")
    func bothOrders() async throws {
        let urls = [
            "http://h:8080/a", "http://h:8080/a/b", "http://h:8080/a/", "http://h:8080/a/b/c?q=/x", "http://h:8080/",
        ]
        for order in [urls, urls.reversed(), [urls[2], urls[4], urls[0], urls[3], urls[1]]] {
            let fixture = try CacheFixture(.readable)
            try await fixture.withCache { cache async throws in
                for url in order { try await cache.store("body of " + url, url: url) }
                for url in order {
                    #expect(try await cache.text(url: url) == "body of " + url)
                    let path = try #require(try cache.entry(url: url)?.localPath)
                    #expect(try String(contentsOfFile: path, encoding: .utf8) == "body of " + url)
                }
                let root = "QUrlCaches/http/h_8080/"
                func marked(_ name: String, _ url: String) -> String {
                    "\(root)\(name)~\(CacheKey.url(canonical: url).text)"
                }
                #expect(
                    Set(bodies(fixture)) == [
                        root + "@index", root + "a/@index", marked("a", urls[0]), marked("a/b", urls[1]),
                        root + "a/b/c?q=%2fx",
                    ])
                #expect(try cache.findings() == [])
            }
            // After a restart, the cache finds the moved bodies in their new places.
            try await fixture.withCache { cache async throws in
                for url in order { #expect(try await cache.text(url: url) == "body of " + url) }
                for url in order { try await cache.remove(CacheKey.url(canonical: url).text) }
                try await cache.flush()
                #expect(bodies(fixture) == [])
                #expect(FileSystem.status(of: fixture.namespace + "/QUrlCaches") == nil)
            }
        }
    }

    @Test(
        "A body that gave its name to a directory gets the name back at the first store after the directory is gone")
    func moved() async throws {
        let fixture = try CacheFixture(.readable)
        try await fixture.withCache { cache async throws in
            try await cache.store("1", url: "http://h/a")
            try await cache.store("2", url: "http://h/a/b")
            let key = CacheKey.url(canonical: "http://h/a").text
            #expect(try cache.entry(for: key)?.localPath == cache.directory + "/QUrlCaches/http/h/a~" + key)
            try await cache.store("3", url: "http://h/a")
            #expect(try cache.entry(for: key)?.localPath == cache.directory + "/QUrlCaches/http/h/a~" + key)
            try await cache.remove(CacheKey.url(canonical: "http://h/a/b").text)
            try await cache.store("4", url: "http://h/a")
            try await cache.flush()
            #expect(bodies(fixture) == ["QUrlCaches/http/h/a"])
            #expect(try await cache.text(url: "http://h/a") == "4")
            #expect(try cache.findings() == [])
        }
    }

    @Test("When a directory took the name of a deleted body file, a new body of this entry leaves the directory intact")
    func removedByOthers() async throws {
        let fixture = try CacheFixture(.readable)
        try await fixture.withCache { cache async throws in
            let entry = try await cache.store("1", url: "http://h/a")
            try FileManager.default.removeItem(atPath: try #require(entry.localPath))
            try await cache.store("2", url: "http://h/a/b")
            try await cache.store("3", url: "http://h/a")
            try await cache.flush()
            #expect(try await cache.text(url: "http://h/a/b") == "2")
            #expect(try await cache.text(url: "http://h/a") == "3")
            #expect(try cache.findings() == [])
        }
    }

    @Test("Bodies with over-long and unusual names get separate files")
    func unusualNames() async throws {
        let long = String(repeating: "x", count: 300)
        let urls = [
            "http://h/" + long, "http://h/" + long + "y", "http://h/" + long + "/" + long, "http://h/%C3%A9",
            "http://h/e%CC%81",
            "http://h/%FF", "http://h/%2F", "http://h/a//b", "http://h/a/b", "http://h/@index", "http://h/?a/../../b",
            "http://h/" + String(repeating: "d/", count: 900),
        ]
        let keys = ["é", "e\u{301}", "..a", "QUrlCaches", String(repeating: "ü", count: 127), "a b\\c:d"]
        let fixture = try CacheFixture(.readable)
        try await fixture.withCache { cache async throws in
            for url in urls { try await cache.store(url, url: url) }
            for key in keys { try await cache.store(key, key: key) }
            for url in urls { #expect(try await cache.text(url: url) == url) }
            for key in keys { #expect(try await cache.stored(key)?.text().utf8.elementsEqual(key.utf8) == true) }
            #expect(bodies(fixture).count == urls.count + keys.count)
            #expect(try cache.findings() == [])
        }
    }

    @Test(
        "Two callers' keys with the same MD5 have two entries, each with its own body", arguments: Layout.allCases,
        [0, 1 << 14])
    func collision(_ layout: Layout, inlineLimit: Int64) async throws {
        let first = "TEXTCOLLBYfGiJUETHQ4hAcKSMd5zYpgqf1YRDhkmxHkhPWptrkoyz28wnI9V0aHeAuaKnak"
        let second = "TEXTCOLLBYfGiJUETHQ4hEcKSMd5zYpgqf1YRDhkmxHkhPWptrkoyz28wnI9V0aHeAuaKnak"
        let fixture = try CacheFixture(layout) { $0.inlineLimit = inlineLimit }
        try await fixture.withCache { cache async throws in
            #expect(try CacheKey.data(first).md5Hex == CacheKey.data(second).md5Hex)
            try await cache.store("first", key: first)
            let entry = try await cache.store("second", key: second)
            if layout == .hashed, inlineLimit == 0 { #expect(entry.localPath?.hasSuffix("~1") == true) }
            for round in 1...3 {
                #expect(try await cache.text(key: first) == (round == 1 ? "first" : "first \(round - 1)"))
                #expect(try await cache.text(key: second) == (round == 1 ? "second" : "second \(round - 1)"))
                try await cache.store("first \(round)", key: first)
                try await cache.store("second \(round)", key: second)
            }
            try await cache.remove(first)
            #expect(try await cache.text(key: first) == nil)
            #expect(try await cache.text(key: second) == "second 3")
            try await cache.store("second 4", key: second)
            #expect(try await cache.text(key: second) == "second 4")
            #expect(try cache.findings() == [])
        }
    }

    @Test(
        "An entry replaces the entry of another URL with the same MD5, and that URL is no longer found",
        arguments: Layout.allCases)
    func collidingURLs(_ layout: Layout) async throws {
        // Simulates two URLs with one MD5.
        let key = CacheKey.url(canonical: "http://h/a")
        let fixture = try CacheFixture(layout) { $0.inlineLimit = 0 }
        try await fixture.withCache { cache async throws in
            func store(_ url: String) async throws {
                let reservation = cache.reserve(key, kind: .download, url: url)
                try reservation.receive(Array(url.utf8))
                _ = try await reservation.publish(EntryMetadata(ttl: .seconds(10)))
            }
            for (url, other) in [
                ("http://h/a", "http://h/a/b"), ("http://h/a/b", "http://h/a"), ("http://h/a", "http://h/c"),
            ] {
                try await store(url)
                #expect(try await cache.stored(key.text, expectingURL: url)?.text() == url)
                #expect(try await cache.stored(key.text, expectingURL: other) == nil)
                #expect(try cache.entry(for: key.text, expectingURL: other) == nil)
                #expect(cache.totals.entries == 1)
                #expect(try cache.findings() == [])
            }
        }
    }

    @Test(
        "A body that was written with one layout can be read, replaced and removed with the other layout",
        arguments: Layout.allCases
    )
    func otherLayout(_ layout: Layout) async throws {
        let fixture = try CacheFixture(layout) { $0.inlineLimit = 100 }
        let long = longText(1000)
        try await fixture.withCache { cache async throws in
            for name in ["a", "b", "c"] {
                try await cache.store("short", url: "http://h/short/\(name)")
                try await cache.store(long, url: "http://h/long/\(name)")
            }
        }
        let other = try fixture.open { $0.layout = layout == .hashed ? .readable : .hashed }
        defer { other.close() }
        for name in ["a", "b", "c"] {
            #expect(try await other.text(url: "http://h/short/\(name)") == "short")
            #expect(try await other.text(url: "http://h/long/\(name)") == long)
        }
        try await other.store("new", url: "http://h/short/a")
        try await other.store(long + "new", url: "http://h/long/a")
        try await other.remove(matching: EntryFilter(prefix: "http://h/long/b"))
        #expect(try await other.text(url: "http://h/short/a") == "new")
        #expect(try await other.text(url: "http://h/long/a") == long + "new")
        #expect(try other.entry(url: "http://h/long/a")?.localPath?.contains("QUrlCaches") == (layout == .hashed))
        #expect(try other.findings() == [])
    }

    @Test(
        "Stores and removals succeed after the directory incoming/ was removed, because the cache makes it again",
        arguments: Layout.allCases)
    func incomingRemoved(_ layout: Layout) async throws {
        let fixture = try CacheFixture(layout) { $0.inlineLimit = 10 }
        let (first, second) = ("http://h/a", "http://h/b")
        try await fixture.withCache { cache async throws in
            func removeIncoming() throws { try FileManager.default.removeItem(atPath: fixture.namespace + "/incoming") }
            try removeIncoming()
            try await cache.store(longText(5000, "one"), url: first)
            #expect(try await cache.text(url: first) == longText(5000, "one"))
            try await cache.store(longText(5000, "other"), url: second)
            let path = try #require(try cache.entry(url: first)?.localPath)
            try removeIncoming()
            #expect(try await cache.remove(CacheKey.url(canonical: first).text))
            #expect(FileSystem.status(of: path) == nil)
            // The cache receives the next body in the directory incoming/ that it has made again.
            let reservation = cache.reserve(.url(canonical: first), kind: .download, url: first)
            try reservation.receive(Array(longText(5000, "two").utf8))
            #expect(files(below: fixture.namespace).contains { $0.hasSuffix(".part") })
            reservation.abandon()
        }
        let intents = fixture.namespace + "/incoming/intents"
        let crashing = try fixture.open(crashHook: { if $0 == .bodyPlaced { throw SimulatedCrash() } })
        try FileManager.default.removeItem(atPath: fixture.namespace + "/incoming")
        await #expect(throws: DiskCacheError.self) { try await crashing.store(longText(5000, "new"), url: second) }
        crashing.close()
        #expect((FileSystem.status(of: intents)?.identity.size ?? 0) > 0)
        try await fixture.withCache { cache async throws in
            #expect(try await cache.text(url: second) == longText(5000, "other"))
            #expect(try cache.findings() == [])
        }
    }
}
