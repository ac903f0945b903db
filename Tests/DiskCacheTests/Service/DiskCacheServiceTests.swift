import Foundation
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("DiskCacheService")
struct DiskCacheServiceTests {
    private let url = "https://api.example.com/users"

    @Test("JSON is found by URL and parameters in any order and spelling, as long as it is fresh")
    func json() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let service = DiskCacheService(cache)
            #expect(service.defaultTTL == .seconds(604_800))
            let params = try URLParameters(["b": 2, "a": ["x", "y"]])
            let value: JSON = ["users": [1, "two", .number("3.50")]]
            let entry = try #require(try await service.setJSON(value, for: url, params: params, ttl: .seconds(20)))
            #expect(entry.kind == .json)
            #expect(entry.url == url + "?a=x&a=y&b=2")
            let same = try URLParameters(["a": ["x", "y"], "b": 2])
            #expect(try await service.json(for: "HTTPS://API.example.com:443/users", params: same) == value)
            #expect(try await service.json(for: url) == nil)
            #expect(try service.hasCache(forKey: entry.key))
            #expect(try cache.entry(for: entry.key)?.hits == 1)
            fixture.clock.advance(by: .seconds(20))
            #expect(try await service.json(for: url, params: params) == nil)
            #expect(try !service.hasCache(forKey: entry.key))
        }
    }

    @Test("A download is read as JSON by its URL when it is JSON")
    func downloaded() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let service = DiskCacheService(cache)
            try await cache.store("[1]", url: url)
            #expect(try await service.json(for: url) == [1])
            try await service.setJSON([2], for: url)
            #expect(try cache.entry(url: url)?.kind == .json)
            try await cache.store("<html>", url: url)
            #expect(try await service.json(for: url) == nil)
            #expect(cache.totals.entries == 1)
        }
    }

    @Test("Null, an empty object and an empty body are not stored", arguments: [JSON.null, .object([])])
    func empty(_ json: JSON) async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let service = DiskCacheService(cache)
            try await service.setJSON([1], for: url)
            await #expect(throws: DiskCacheError.emptyJSON) { try await service.setJSON(json, for: url) }
            #expect(try await service.json(for: url) == [1])
            await #expect(throws: DiskCacheError.emptyBody) { try await service.setData([], forKey: "k") }
            await #expect(throws: InvalidKey.slash) { try await service.setData([1], forKey: "a/b") }
            try await service.setJSON([], for: url)
            #expect(try await service.json(for: url) == [])
        }
    }

    @Test("A store with a ttl of zero or less removes the entry", arguments: [Duration.zero, .seconds(-1)])
    func removesWithZero(_ ttl: Duration) async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let service = DiskCacheService(cache)
            try await service.setData([1, 2], forKey: "k")
            try await service.setJSON([1], for: url)
            #expect(try await service.setData([3], forKey: "k", ttl: ttl) == nil)
            #expect(try await service.setJSON([3], for: url, ttl: ttl) == nil)
            #expect(try await service.data(forKey: "k") == nil)
            #expect(try await service.json(for: url) == nil)
            #expect(cache.totals.entries == 0)
        }
    }

    @Test("Data is stored, listed, removed and cleared by key, and expires after the default ttl")
    func data() async throws {
        let fixture = try CacheFixture { $0.defaultTTL = .seconds(5) }
        try await fixture.withCache { cache async throws in
            let service = DiskCacheService(cache)
            for key in ["c", "a", "b"] { try await service.setData(Array(key.utf8), forKey: key) }
            #expect(try await service.data(forKey: "b").map { $0.withUnsafeBytes { Array($0) } } == Array("b".utf8))
            var keys: [String] = []
            for try await key in service.allKeys { keys.append(key) }
            #expect(keys == ["a", "b", "c"])
            #expect(try await service.removeCache(forKey: "b"))
            #expect(try await !service.removeCache(forKey: "b"))
            #expect(try await service.clearCache() == 2)
            #expect(try !service.hasCache(forKey: "a"))
            try await service.setData([1], forKey: "ttl")
            fixture.clock.advance(by: .seconds(5))
            #expect(try await service.data(forKey: "ttl") == nil)
        }
    }
}
