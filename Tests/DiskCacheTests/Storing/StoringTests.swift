import Foundation
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Storing and loading")
struct StoringTests {
    private let url = "https://example.com/a/b?x=1"

    @Test("A stored body is read back whole, before and after a restart", arguments: Layout.allCases)
    func roundTrip(_ layout: Layout) async throws {
        let fixture = try CacheFixture(layout)
        let long = longText(300_000)
        try await fixture.withCache { cache async throws in
            try await cache.store("short", url: url)
            try await cache.store(long, key: "my key ü")
            #expect(try await cache.text(url: url) == "short")
            #expect(try await cache.text(key: "my key ü") == long)
        }
        try await fixture.withCache { cache async throws in
            #expect(try await cache.text(url: url) == "short")
            #expect(try await cache.text(key: "my key ü") == long)
            #expect(try await cache.text(key: "another") == nil)
            #expect(cache.totals.entries == 2)
            #expect(cache.totals.bodyBytes == 300_005)
            #expect(try cache.findings() == [])
        }
    }

    @Test("A body longer than a megabyte is returned as an open file, which outlives its entry")
    func largeBody() async throws {
        let fixture = try CacheFixture()
        let text = longText(3 << 20)
        try await fixture.withCache { cache async throws in
            try await cache.store(text, url: url)
            let stored = try #require(try await cache.stored(CacheKey.url(canonical: url).text))
            guard case .file(let file) = stored.body else {
                Issue.record("the body is not a file")
                return
            }
            #expect(file.length == 3 << 20)
            try await cache.remove(CacheKey.url(canonical: url).text)
            #expect(try stored.text() == text)
            #expect(try await cache.text(url: url) == nil)
        }
    }

    @Test("A body at the inline limit is in the slab, and a longer body is a file named by the MD5 of its URL")
    func inlineLimit() async throws {
        let fixture = try CacheFixture { $0.inlineLimit = 100 }
        try await fixture.withCache { cache async throws in
            let inline = try await cache.store(longText(100), url: "http://a/1")
            #expect(inline.localPath == nil)
            let file = try await cache.store(longText(101), url: "http://a/2")
            let name = CacheKey.url(canonical: "http://a/2").text
            #expect(file.localPath == "\(cache.directory)/\(name.prefix(2))/\(name.dropFirst(2).prefix(2))/\(name)")
            #expect(try String(contentsOfFile: file.localPath ?? "", encoding: .utf8) == longText(101))
            #expect(files(below: fixture.namespace).filter { $0.contains(name) }.count == 1)
        }
    }

    @Test(
        "With an inline limit of 0, an empty body is a file; with the default limit, an empty body is in the slab",
        arguments: Layout.allCases)
    func emptyBody(_ layout: Layout) async throws {
        let fixture = try CacheFixture(layout) { $0.inlineLimit = 0 }
        try await fixture.withCache { cache async throws in
            let entry = try await cache.store("", url: url)
            #expect(entry.localPath != nil)
            #expect(entry.contentLength == 0)
            #expect(!entry.isJSON)
            #expect(try await cache.text(url: url) == "")
        }
        let inline = try CacheFixture()
        try await inline.withCache { cache async throws in
            #expect(try await cache.store("", url: url).localPath == nil)
            #expect(try await cache.text(url: url) == "")
            #expect(try cache.findings() == [])
        }
    }

    @Test("A caller cannot store an empty body, or null or an empty object as JSON; the earlier entry stays")
    func emptyFromCaller() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.store("[1]", url: url, kind: .json)
            for text in ["null", "{}", " { } "] {
                await #expect(throws: DiskCacheError.emptyJSON, "\(text)") {
                    try await cache.store(text, url: url, kind: .json)
                }
            }
            await #expect(throws: DiskCacheError.emptyBody) { try await cache.store("", url: url, kind: .json) }
            await #expect(throws: DiskCacheError.emptyBody) { try await cache.store("", key: "k") }
            #expect(try await cache.text(url: url) == "[1]")
            try await cache.store("[]", url: url, kind: .json)
            #expect(try await cache.text(url: url) == "[]")
            #expect(cache.totals.entries == 1)
        }
    }

    @Test("A download and JSON under one URL replace each other")
    func kindsOfOneURL() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            for kind in [Entry.Kind.download, .json, .download] {
                try await cache.store("[1]", url: url, kind: kind)
                let entry = try #require(try cache.entry(url: url))
                #expect(entry.kind == kind)
                #expect(entry.isJSON)
            }
            #expect(cache.totals.entries == 1)
        }
    }

    @Test("An entry has the metadata with which it was stored")
    func metadata() async throws {
        let fixture = try CacheFixture()
        let start = fixture.clock.now()
        try await fixture.withCache { cache async throws in
            try await cache.store(#"{"a": [1, 2]}"#, url: url, ttl: .milliseconds(1500), tags: ["t2"]) { metadata in
                metadata.status = 203
                metadata.contentType = "application/json"
                metadata.etag = "W/\"1\""
                metadata.lastModified = "yesterday"
                metadata.params = #"{"x":1}"#
                metadata.downloadStartDate = start
                metadata.downloadEndDate = start + .seconds(1)
                metadata.tags = ["t1", "t\"3\u{1F600}", "t2"]
                metadata.pinned = true
                metadata.staleAllowance = .seconds(7)
                metadata.fields = "[]"
            }
        }
        try await fixture.withCache { cache async throws in
            let entry = try #require(try cache.entry(url: url))
            #expect(entry.key == CacheKey.url(canonical: url).text)
            #expect(entry.namespace == "default")
            #expect(entry.kind == .download)
            #expect(entry.url == url)
            #expect(entry.status == 203)
            #expect(entry.contentType == "application/json")
            #expect(entry.contentLength == 13)
            #expect(entry.etag == "W/\"1\"")
            #expect(entry.lastModified == "yesterday")
            #expect(entry.params == #"{"x":1}"#)
            #expect(entry.digest == digest(of: #"{"a": [1, 2]}"#))
            #expect(entry.isJSON)
            #expect(entry.downloadStartDate == start)
            #expect(entry.downloadEndDate == start + .seconds(1))
            #expect(entry.ttl == .milliseconds(1500))
            #expect(entry.expiryDate == start + .milliseconds(1500))
            #expect(entry.tags == ["t\"3\u{1F600}", "t1", "t2"])
            #expect(entry.pinned)
            #expect(entry.staleAllowance == .seconds(7))
            #expect(entry.fields == "[]")
            #expect(entry.hits == 0)
            #expect(entry.lastAccessDate == start)
            #expect(entry.isFresh(at: start + .milliseconds(1499)))
            #expect(!entry.isFresh(at: start + .milliseconds(1500)))
        }
    }

    @Test(
        "A new body replaces the earlier body, whether either is in the slab or a file of its own",
        arguments: Layout.allCases)
    func replacing(_ layout: Layout) async throws {
        let fixture = try CacheFixture(layout) { $0.inlineLimit = 50 }
        try await fixture.withCache { cache async throws in
            var version: Int64 = 0
            for body in ["a", longText(60), longText(70, "y"), "b", "c"] {
                let entry = try await cache.store(body, url: url)
                #expect(entry.version > version)
                version = entry.version
                #expect(try await cache.text(url: url) == body)
                #expect(cache.totals.entries == 1)
                #expect(cache.totals.bodyBytes == Int64(body.utf8.count))
            }
            #expect(try cache.findings() == [])
        }
    }

    @Test("A replacement keeps the pin and adds tags, unless its metadata states the tags or the pin")
    func keepsTags() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.store("1", url: url) {
                $0.tags = ["a", "b"]
                $0.pinned = true
            }
            let second = try await cache.store("2", url: url, tags: ["c"])
            #expect(second.tags == ["a", "b", "c"])
            #expect(second.pinned)
            let third = try await cache.store("3", url: url) {
                $0.tags = ["d"]
                $0.pinned = false
            }
            #expect(third.tags == ["d"])
            #expect(!third.pinned)
            #expect(try cache.count(matching: EntryFilter(tag: "a")) == 0)
            #expect(try cache.count(matching: EntryFilter(tag: "d")) == 1)
        }
    }

    @Test(
        "A removal drops a running download; a removal and a store in one transaction leave the new body",
        arguments: Layout.allCases)
    func deleteThenStore(_ layout: Layout) async throws {
        let fixture = try CacheFixture(layout) { $0.inlineLimit = 0 }
        try await fixture.withCache { cache async throws in
            try await cache.store("old", url: url)
            let gate = Gate("group")
            try await cache.holdWriter(until: gate)
            let removed = Gate("removed")
            cache.remove(CacheKey.url(canonical: url).text) { result in
                if (try? result.get()) == true { removed.open() }
            }
            let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url)
            try reservation.receive(Array("new".utf8))
            let stored = Gate("stored")
            reservation.publish(EntryMetadata(ttl: .seconds(1))) { result in
                if case .success(.notKept) = result { stored.open() }
            }
            // The removal came while the body was being received, so the body is not kept.
            gate.open()
            try await removed.wait()
            try await stored.wait()
            #expect(try await cache.text(url: url) == nil)

            try await cache.store("old", url: url)
            let second = Gate("second group")
            try await cache.holdWriter(until: second)
            cache.writer.submit(
                { context in
                    let row = try #require(try context.index.row(forKey: CacheKey.url(canonical: url).text))
                    try context.remove(row)
                }, completion: { _ in })
            async let entry = cache.store("new", url: url)
            second.open()
            _ = try await entry
            try await cache.flush()
            #expect(try await cache.text(url: url) == "new")
            #expect(try cache.findings() == [])
        }
    }

    @Test("A body that is shorter or longer than announced is not kept", arguments: [4, 6])
    func lengthMismatch(_ expected: Int64) async throws {
        let fixture = try CacheFixture { $0.inlineLimit = 0 }
        try await fixture.withCache { cache async throws in
            let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url)
            try reservation.receive(Array("12345".utf8))
            await #expect(throws: DiskCacheError.lengthMismatch(expected: expected, received: 5)) {
                try await reservation.publish(EntryMetadata(ttl: .seconds(1)), expectedLength: expected)
            }
            #expect(try await cache.text(url: url) == nil)
            #expect(files(below: fixture.namespace + "/incoming") == ["intents"])
            #expect(cache.parts.budget.reserved == 0)
        }
    }

    @Test("A store that is given up leaves no file and no reserved bytes behind")
    func abandoned() async throws {
        let fixture = try CacheFixture { $0.inlineLimit = 0 }
        try await fixture.withCache { cache async throws in
            do {
                let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url)
                try reservation.receive(Array("12345".utf8))
                #expect(files(below: fixture.namespace + "/incoming").count == 2)
                #expect(cache.parts.budget.reserved > 0)
            }
            #expect(files(below: fixture.namespace + "/incoming") == ["intents"])
            #expect(cache.parts.budget.reserved == 0)
            let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url)
            reservation.abandon()
            #expect(throws: DiskCacheError.reservationEnded) { try reservation.receive([1]) }
        }
    }

    @Test("The condition of a store gets the entry that the store would replace, and can refuse the replacement")
    func condition() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let first = try await cache.store("1", url: url)
            let refused = cache.reserve(.url(canonical: url), kind: .download, url: url)
            try refused.receive(Array("2".utf8))
            await #expect(throws: DiskCacheError.conditionFailed) {
                try await refused.publish(EntryMetadata(ttl: .seconds(1)), condition: { $0 == nil })
            }
            #expect(try await cache.text(url: url) == "1")
            let allowed = cache.reserve(.url(canonical: url), kind: .download, url: url)
            try allowed.receive(Array("3".utf8))
            _ = try await allowed.publish(EntryMetadata(ttl: .seconds(1)), condition: { $0?.digest == first.digest })
            #expect(try await cache.text(url: url) == "3")
        }
    }

    @Test("JSON is recognised even when each byte arrives in a piece of its own")
    func recognisesJSON() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            for (text, isJSON) in [(#"[1,"ü",{}]"#, true), ("[1,", false), ("text", false), (" 1 ", true)] {
                let reservation = cache.reserve(try .data("k"), kind: .data)
                for byte in text.utf8 { try reservation.receive([byte]) }
                #expect(try await reservation.publish(EntryMetadata(ttl: .seconds(1))).entry.isJSON == isJSON)
            }
        }
    }

    @Test("After the cache is closed, stores, removals and reads fail with the error that the cache is closed")
    func closed() async throws {
        let fixture = try CacheFixture()
        let cache = try fixture.open()
        let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url)
        try reservation.receive(Array("1".utf8))
        cache.close()
        await #expect(throws: DiskCacheError.closed) { try await reservation.publish(EntryMetadata(ttl: .seconds(1))) }
        await #expect(throws: DiskCacheError.closed) { try await cache.remove("x") }
        #expect(throws: DiskCacheError.closed) { try cache.entry(for: "x") }
        #expect(throws: DiskCacheError.closed) { try cache.list() }
    }
}
