import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import DiskCache
@testable import Larder
@testable import LarderAPI

/// Responses with bodies straight from the disk, which bypass the memory tier. A usual response puts its entry into the
/// tier. A response that bypasses the tier leaves its entry outside, except after another recent request for the entry.
/// So every test proves that its responses bypass the tier by the absence of their entries in the tier.
@Suite("Responses that bypass the memory tier")
struct PassingContentTests {
    private static let namespaceField = HTTPField.Name("Larder-Namespace")!
    private static let keys = (0..<400).map { "entry-\($0)" }

    private static func body(_ key: String) -> [UInt8] { Array(String(repeating: key + ";", count: 90).utf8) }

    private static func path(_ key: String) -> String { "/entries/\(key)/content" }

    /// A server with a small, full memory tier. Each of its entries was requested once.
    private func withEntries(
        namespace: String? = nil, _ body: (TestServer, HTTPFields) async throws -> Void
    ) async throws {
        try await TestServer.with(configure: { $0.memoryLimit = 256 << 10 }) { (server) async throws in
            var fields = HTTPFields()
            if let namespace {
                let reply = try await server.client.request(
                    "PUT", "/namespaces/\(namespace)", fields: [.contentType: "application/json"],
                    body: Array(#"{"memoryLimit": 131072}"#.utf8))
                try #require(reply.status == 200, "\(reply.text)")
                fields[Self.namespaceField] = namespace
            }
            var stored = fields
            stored[.contentType] = "text/plain"
            for key in Self.keys {
                try await server.put(key, Self.body(key), query: "ttl=60", fields: stored)
            }
            for key in Self.keys { _ = try await server.get(Self.path(key), fields: fields) }
            try await body(server, fields)
        }
    }

    private func isInMemory(_ key: String, _ server: TestServer, _ fields: HTTPFields) throws -> Bool {
        let name = fields[Self.namespaceField] ?? "default"
        let space = try #require(server.service.namespaces.find(name))
        return space.cache.parts.memory.peek(key) != nil
    }

    @Test("A response that bypasses the memory tier equals a response from the memory tier", arguments: [nil, "other"])
    func same(namespace: String?) async throws {
        try await withEntries(namespace: namespace) { (server, fields) async throws in
            for method in ["GET", "HEAD"] {
                let key = Self.keys[method == "GET" ? 0 : 1]
                let hits = server.service.metrics.hits.value
                let passing = try await server.client.request(method, Self.path(key), fields: fields)
                #expect(try !isInMemory(key, server, fields))
                #expect(server.service.metrics.hits.value == hits + 1)
                let other = try await server.client.request(method, Self.path(key) + "?stale=true", fields: fields)
                #expect(try isInMemory(key, server, fields))
                #expect(passing.status == 200)
                #expect(passing.body == (method == "GET" ? Self.body(key) : []))
                #expect(passing.body == other.body)
                #expect(passing.fields.filter { $0.name != .date } == other.fields.filter { $0.name != .date })
            }
        }
    }

    @Test(
        "A body outside of the page cache is served whole, and enters the memory tier only if the request has a query")
    func cold() async throws {
        try await withEntries { (server, _) async throws in
            let cache = try #require(server.service.namespaces.find("default")).cache
            let slab = cache.parts.slab
            var coldCount = 0
            // On a fast disk, the kernel may have read the slot before the check below.
            for (number, key) in Self.keys.prefix(200).enumerated() where number < 40 || coldCount == 0 {
                let isPlain = number % 4 != 3
                // An escaped path names the same key. `PassingAnswers` ignores such a path, so the route answers the
                // request.
                let path = Self.path(number % 2 == 0 ? key : "%65" + key.dropFirst())
                #expect(slab.forget())
                // The test checks the slot of another entry, because the check makes the kernel read the slot.
                let other = try #require(try cache.parts.reader.row(forKey: Self.keys[number + 200])?.slot)
                if slab.content(of: other, mayWait: false) == nil, isPlain, number % 2 == 1 { coldCount += 1 }
                let hits = server.service.metrics.hits.value
                let first = try await server.get(path + (isPlain ? "" : "?stale=false"))
                #expect(try isInMemory(key, server, [:]) == !isPlain)
                #expect(server.service.metrics.hits.value == hits + 1)
                let second = try await server.get(Self.path(key) + "?stale=true")
                #expect(first.status == 200 && first.body == Self.body(key))
                #expect(first.fields.filter { $0.name != .date } == second.fields.filter { $0.name != .date })
                let entry = try await server.get("/entries/\(key)").text
                #expect(entry.contains("\"hits\":3"), "\(entry)")
            }
            #expect(coldCount > 0)
        }
    }

    @Test(
        "Until the kernel has read a body into the page cache, each lookup returns `soon`; the lookups count as one hit"
    )
    func soon() async throws {
        try await withEntries { (server, _) async throws in
            let cache = server.space.cache
            let answers = PassingAnswers(
                metrics: RequestMetrics(operations: ["getContent"]),
                gate: AccessGate(tokens: nil, web: WebGuard(hosts: nil, origins: [])), outbox: server.service.outbox)
            let hits = server.service.metrics.hits.value
            var (soonCount, lookupCount) = (0, 0)
            // A lookup can also find the body at once: the kernel may have read it together with a neighbouring body,
            // and a fast disk may have read it before the lookup asks for it.
            for key in Self.keys where lookupCount < 40 || soonCount == 0 {
                lookupCount += 1
                let target = Array(Self.path(key).utf8)
                #expect(cache.parts.slab.forget())
                try await poll("\(key) to be read") {
                    switch target.withUnsafeBytes({ answers.answer($0, in: server.space, at: server.clock.now()) }) {
                    case .response: return true
                    case .soon: soonCount += 1
                    case .none: Issue.record("the body does not bypass the memory tier")
                    }
                    return false
                }
            }
            #expect(soonCount > 0)
            #expect(server.service.metrics.hits.value == hits + lookupCount)
        }
    }

    @Test(
        "A conditional, range or malformed request gets 304, 412, 206 or an error, and not the answer to a plain GET",
        arguments: [false, true])
    func others(isCold: Bool) async throws {
        try await withEntries { (server, _) async throws in
            let slab = try #require(server.service.namespaces.find("default")).cache.parts.slab
            let cases: [(HTTPFields, Int)] = [
                ([.ifNoneMatch: "*"], 304), ([.range: "bytes=0-4"], 206), ([.ifMatch: "\"other\""], 412),
            ]
            for (number, (fields, status)) in cases.enumerated() {
                // Each path names a key that was requested once, so a plain request would bypass the memory tier.
                for path in [Self.path("entry-\(10 + number)"), Self.path("%65ntry-\(20 + number)")] {
                    if isCold { #expect(slab.forget()) }
                    #expect(try await server.get(path, fields: fields).status == status)
                }
            }
            let escaped = try await server.get("/entries/%65ntry-1/content")
            #expect(escaped.status == 200 && escaped.body == Self.body(Self.keys[1]))
            #expect(try !isInMemory(Self.keys[1], server, [:]))
            #expect(try await server.get("/entries/entry-2/content?unknown=1").status == 400)
            #expect(try await server.get("/entries//content").status == 404)
            #expect(try await server.get("/entries/entry-2/content/").status == 404)
            #expect(try await server.get("/entries/entry-2/content").body == Self.body(Self.keys[2]))
        }
    }

    @Test("A response that bypasses the memory tier counts as a hit in the metrics and in the entry")
    func counted() async throws {
        try await withEntries { (server, _) async throws in
            func requests() async throws -> String? {
                let text = try await server.get("/metrics").text
                let name = "larder_http_requests_total{route=\"getContent\",status=\"200\"}"
                return text.split(separator: "\n").first { $0.hasPrefix(name) }.map(String.init)
            }
            let before = try await requests()
            #expect(before?.hasSuffix(" 400") == true)
            _ = try await server.get(Self.path(Self.keys[0]))
            #expect(try !isInMemory(Self.keys[0], server, [:]))
            #expect(try await requests()?.hasSuffix(" 401") == true)
            let entry = try await server.get("/entries/\(Self.keys[0])").text
            #expect(entry.contains("\"hits\":2"), "\(entry)")
        }
    }
}

extension Slab {
    /// Asks the kernel to drop its cached pages of the slab. Returns whether the kernel accepted the request.
    fileprivate func forget() -> Bool {
        fsync(file.descriptor) == 0 && posix_fadvise(file.descriptor, 0, 0, POSIX_FADV_DONTNEED) == 0
    }
}
