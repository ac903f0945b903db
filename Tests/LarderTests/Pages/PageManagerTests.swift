import DiskCache
import HTTPTypes
import Logging
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Captured pages")
struct PageManagerTests {
    private func withManager(
        _ script: @escaping ScriptedOrigin.Script,
        _ body: (PageManager, DiskCache, ScriptedOrigin) async throws -> Void
    ) async throws {
        let origin = try ScriptedOrigin(script)
        defer { origin.stop() }
        try await TestCaptures.withOne { captures async throws in
            let manager = PageManager(
                tools: captures.tools, directory: captures.directory,
                events: NamespaceEvents(hub: EventHub(), namespace: "default", clock: SystemClock()), schemes: ["http"],
                browsers: nil,
                logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
            try await body(manager, captures.cache, origin)
            manager.stop()
        }
    }

    private static func html(_ connection: ScriptedOrigin.Connection, _ body: String) throws {
        try connection.respond(fields: [.contentType: "text/html"], body: body)
    }

    private func request(_ origin: ScriptedOrigin, _ path: String = "/") throws -> PageRequest {
        PageRequest(url: try CanonicalURL(origin.url(path)))
    }

    private func manifest(_ cache: DiskCache, _ request: PageRequest) async throws -> PageManifest? {
        try await cache.stored(request.key.text).flatMap { PageManifest(of: $0) }
    }

    private func capture(_ manager: PageManager, _ request: PageRequest) async throws -> PageStatus {
        try await withCheckedThrowingContinuation { continuation in
            do {
                _ = try manager.capture(request) { continuation.resume(returning: $0) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    @Test("A captured page is an entry with its title, its counts, and the records of its URLs")
    func captured() async throws {
        try await withManager({ request, connection in
            if request.target == "/" { return try Self.html(connection, "<title>T</title><img src=i><img src=j>") }
            try connection.respond(fields: [.contentType: "image/png"], body: request.target)
        }) { manager, cache, origin in
            var request = try request(origin)
            request.tags = ["news"]
            request.ttl = .seconds(60)
            let status = try await capture(manager, request)
            #expect(status.state == .complete && status.problem == nil && status.endDate != nil)
            let entry = try #require(try cache.entry(for: request.key.text))
            #expect(entry.kind == .page && entry.url == request.url.string && entry.tags == ["news"])
            #expect(entry.ttl == .seconds(60))
            let manifest = try #require(try await manifest(cache, request))
            let newest = try #require(manifest.newest)
            #expect(newest.title == "T" && newest.captured == 3 && newest.missing == 0 && newest.isComplete)
            guard case .hit(let records) = try cache.resource(newest.records), case .bytes(let text) = records.body
            else {
                Issue.record("the records are not stored")
                return
            }
            let urls = try #require(CaptureRecord.records(in: Array(text))).map(\.url)
            #expect(urls == ["/", "/i", "/j"].map { origin.url($0) })
            #expect(PageManifest(manifest.text) == manifest)
            #expect(manager.status(of: request.key.text)?.state == .complete)
        }
    }

    @Test("Requests for one page share one capture")
    func joining() async throws {
        let release = Gate("the page may be sent")
        try await withManager({ _, connection in
            try release.waitBlocking()
            try Self.html(connection, "x")
        }) { manager, _, origin in
            let request = try request(origin)
            async let first = capture(manager, request)
            try await origin.waitForRequests(1)
            let ended = Counter("captures")
            #expect(try manager.capture(request) { _ in ended.add() }.state == .fetching)
            release.open()
            #expect(try await first.state == .complete)
            try await poll("the second caller's end") { ended.value == 1 }
            #expect(origin.requestCount == 1)
        }
    }

    @Test("A capture with missing resources does not replace a complete one; a complete one replaces it")
    func replacing() async throws {
        let isBroken = Locked(false)
        try await withManager({ request, connection in
            if request.target == "/" { return try Self.html(connection, "<img src=i>") }
            let status = isBroken.withLock { $0 } ? 500 : 200
            try connection.respond(status, fields: [.contentType: "image/png"], body: "i")
        }) { manager, cache, origin in
            let request = try request(origin)
            #expect(try await capture(manager, request).state == .complete)
            let first = try await manifest(cache, request)
            isBroken.withLock { $0 = true }
            let worse = try await capture(manager, request)
            #expect(worse.state == .partial && worse.problem == .worse)
            #expect(try await manifest(cache, request) == first)
            isBroken.withLock { $0 = false }
            #expect(try await capture(manager, request).state == .complete)
            let second = try #require(try await manifest(cache, request))
            #expect(second.captures.count == 1 && second != first)
            var keeping = request
            keeping.capturesKept = 2
            _ = try await capture(manager, keeping)
            #expect(try await manifest(cache, request)?.captures.map(\.number).first == second.newest?.number)
            #expect(try await manifest(cache, request)?.captures.count == 2)
        }
    }

    @Test("A page that cannot be fetched, a refused scheme, a cancelled and a purged capture leave no entry")
    func endings() async throws {
        let release = Gate("the page may be sent")
        try await withManager({ request, connection in
            if request.target == "/gone" { return connection.close() }
            try release.waitBlocking()
            try Self.html(connection, "x")
        }) { manager, cache, origin in
            let gone = try await capture(manager, try request(origin, "/gone"))
            #expect(gone.state == .failed)
            guard case .document? = gone.problem else {
                Issue.record("\(String(describing: gone.problem))")
                return
            }
            #expect(throws: PageError.schemeRefused("ftp")) {
                try manager.capture(PageRequest(url: try CanonicalURL("ftp://127.0.0.1/")))
            }
            let slow = try request(origin, "/slow")
            async let cancelled = capture(manager, slow)
            try await origin.waitForRequests(origin.requestCount + 1)
            #expect(manager.cancel(slow.key.text))
            #expect(try await cancelled.state == .cancelled)
            #expect(!manager.cancel(slow.key.text))
            async let purged = capture(manager, slow)
            try await poll("the capture to run") { manager.runningCount == 1 }
            try await poll("the request") { origin.requests.filter { $0.target == "/slow" }.count == 2 }
            try await cache.remove(matching: EntryFilter(host: "127.0.0.1"))
            release.open()
            #expect(try await purged.problem == .purged)
            #expect(cache.totals.entries == 0)
        }
    }

    @Test("Captures beyond the places wait in line, and a stop ends them all")
    func line() async throws {
        let release = Gate("the pages may be sent")
        try await withManager({ _, connection in
            try release.waitBlocking()
            try Self.html(connection, "x")
        }) { manager, _, origin in
            let ended = Recorder<PageStatus.State>()
            let count = PageManager.placeLimit + 3
            for number in 0..<count {
                try manager.capture(try request(origin, "/\(number)")) { ended.append($0.state) }
            }
            let last = try request(origin, "/\(count - 1)").key.text
            #expect(manager.status(of: last)?.state == .queued)
            #expect(manager.cancel(last))
            #expect(manager.status(of: last)?.state == .cancelled)
            release.open()
            try await poll("all captures to end") { ended.elements.count == count }
            #expect(ended.elements.filter { $0 == .complete }.count == count - 1)
            manager.stop()
            #expect(throws: PageError.stopping) { try manager.capture(try request(origin, "/late")) }
        }
    }
}
