import DiskCache
import HTTPTypes
import Logging
import Primitives
import TestSupport
import Testing
import WebArchive

@testable import Larder

@Suite("Archives of captured pages")
struct ArchiveTests {
    private static let html = "<title>T</title><link rel=stylesheet href=s.css><img src=a.png><img src=b.png>"

    /// An origin with two images of the same bytes, so that an archive has a revisit record.
    private static func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            switch request.target {
            case "/": try connection.respond(302, fields: [.location: "/page"], body: "")
            case "/page":
                try connection.respond(
                    fields: [.contentType: "text/html", .setCookie: "a=secret"], body: html)
            case "/s.css": try connection.respond(fields: [.contentType: "text/css"], body: "a{}")
            case "/a.png", "/b.png": try connection.respond(fields: [.contentType: "image/png"], body: "same bytes")
            default: try connection.respond(404, body: "")
            }
        }
    }

    private struct Fixture {
        let manager: PageManager
        let viewer: PageViewer
        let cache: DiskCache

        func capture(_ request: PageRequest) async throws -> PageStatus {
            try await withCheckedThrowingContinuation { continuation in
                do {
                    _ = try manager.capture(request) { continuation.resume(returning: $0) }
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }

        func export(_ key: String, _ format: PageExport.Format) async throws -> [UInt8] {
            let export = try await withCheckedContinuation { continuation in
                viewer.export(of: key) { continuation.resume(returning: $0) }
            }.get()
            let output = Locked<[UInt8]>([])
            try export.write(format) { bytes in output.withLock { $0 += bytes } }
            return output.withLock { $0 }
        }

        func resources(_ key: String) async throws -> [CaptureRecord] {
            let stored = try #require(manager.stored(key))
            let capture = try #require(PageManifest(of: stored)?.newest)
            guard case .hit(let records) = try cache.resource(capture.records) else { return [] }
            return CaptureRecord.records(in: [UInt8](try records.body.bytes())) ?? []
        }

        func archive(_ bytes: [UInt8]) throws -> ArchiveFile {
            let file = try manager.makeArchive()
            try bytes.withUnsafeBytes { bytes throws in try file.append(bytes) }
            return file
        }

        func restore(_ bytes: [UInt8], _ url: String? = nil) async throws -> PageStatus {
            let file = try archive(bytes)
            var request = PageRequest(url: try CanonicalURL(try url ?? manager.page(in: file)))
            request.archive = file
            return try await capture(request)
        }
    }

    /// The file without compression: the text of its records, and the other files of a WACZ file.
    private static func plain(_ file: [UInt8], _ format: PageExport.Format) throws -> String {
        var text: [UInt8] = []
        func unzip(_ bytes: UnsafeRawBufferPointer) throws {
            try GzipReader(limit: 1 << 20).read(bytes, { $0 as any Error }) { bytes throws(any Error) in text += bytes }
        }
        switch format {
        case .warc: try file.withUnsafeBytes(unzip)
        case .wacz:
            let zip = try ZipReader(length: Int64(file.count)) { Array(file.dropFirst(Int($0)).prefix($1)) }
            for part in zip.files {
                var content: [UInt8] = []
                try zip.read(part, limit: 1 << 20) { content += $0 }
                if part.name.hasSuffix(".gz") { try content.withUnsafeBytes(unzip) } else { text += content }
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private func withFixture(_ body: (Fixture) async throws -> Void) async throws {
        try await TestCaptures.withOne { captures async throws in
            let manager = PageManager(
                tools: captures.tools, directory: captures.directory,
                events: NamespaceEvents(hub: EventHub(), namespace: "default", clock: SystemClock()), schemes: ["http"],
                browsers: nil,
                logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
            let viewer = PageViewer(cache: captures.cache, clock: SystemClock(), metrics: PageCounters())
            try await body(Fixture(manager: manager, viewer: viewer, cache: captures.cache))
            manager.stop()
        }
    }

    @Test(
        "An export has no cookie and no field of the caller, and no cookie of the origin",
        arguments: PageExport.Format.allCases)
    func credentials(format: PageExport.Format) async throws {
        let origin = try Self.origin()
        defer { origin.stop() }
        try await withFixture { fixture async throws in
            var request = PageRequest(url: try CanonicalURL(origin.url("/")))
            request.cookies = ["sid=secret"]
            request.fields = [.authorization: "Basic secret", HTTPField.Name("X-Key")!: "secret"]
            let key = try await fixture.capture(request).key
            #expect(origin.requests.last?["Cookie"]?.contains("sid=secret") == true)
            let text = try Self.plain(try await fixture.export(key, format), format)
            #expect(text.contains("WARC/1.1") && text.contains(Self.html) && text.contains("same bytes"))
            #expect(!text.contains("secret"), "\(text)")
        }
    }

    @Test(
        "An exported page that is imported has the same URLs, answers and bodies", arguments: PageExport.Format.allCases
    )
    func roundTrip(format: PageExport.Format) async throws {
        let origin = try Self.origin()
        let url = origin.url("/")
        defer { origin.stop() }
        try await withFixture { fixture async throws in
            let status = try await fixture.capture(PageRequest(url: try CanonicalURL(url)))
            #expect(status.state == .complete)
            let records = try await fixture.resources(status.key)
            #expect(records.count == 5)
            let file = try await fixture.export(status.key, format)
            try await withFixture { other async throws in
                origin.stop()
                let restored = try await other.restore(file, url)
                #expect(
                    restored.state == .complete && restored.key == status.key, "\(String(describing: restored.problem))"
                )
                let imported = try await other.resources(status.key)
                #expect(imported.map(\.url) == records.map(\.url))
                #expect(imported.map(\.answer) == records.map(\.answer))
                #expect(imported.map(\.date) == records.map(\.date))
                let stored = try #require(other.manager.stored(status.key))
                let page = try #require(PageManifest(of: stored))
                #expect(page.newest?.title == "T" && page.newest?.mode == .imported)
                #expect(page.newest?.finalURL == origin.url("/page"))
                let again = try await other.export(status.key, format)
                #expect(again.count > file.count / 2)
            }
        }
    }

    @Test("A WARC file has a record for each response, a revisit for an equal body, and a request for each URL")
    func records() async throws {
        let origin = try Self.origin()
        defer { origin.stop() }
        try await withFixture { fixture async throws in
            let status = try await fixture.capture(PageRequest(url: try CanonicalURL(origin.url("/"))))
            let file = try fixture.archive(try await fixture.export(status.key, .warc))
            let lines = Recorder<String>()
            let text = Locked("")
            try ArchiveReader(file).records { part in
                switch part {
                case .head(let record): lines.append("\(record.kind?.rawValue ?? "-") \(record.url ?? "-")")
                case .block(let bytes): text.withLock { $0 += String(decoding: bytes, as: UTF8.self) }
                case .end: break
                }
            }
            let urls = ["/", "/page", "/s.css", "/a.png", "/b.png"].map { origin.url($0) }
            let expected = urls.flatMap { url in
                ["\(url.hasSuffix("b.png") ? "revisit" : "response") \(url)", "request \(url)"]
            }
            #expect(lines.elements == ["warcinfo -"] + expected)
            #expect(text.withLock { $0 }.contains("GET /page HTTP/1.1\r\nHost: 127.0.0.1:\(origin.port)\r\n\r\n"))
        }
    }

    @Test(
        "Archives of other programs are imported: chunked and coded bodies, brackets, other records, and a page by itself"
    )
    func others() async throws {
        let gzip = GzipMember()
        var coded: [UInt8] = []
        Array("<title>Coded</title><img src=i.png>".utf8).withUnsafeBytes { gzip.compress($0, into: &coded) }
        gzip.finish(into: &coded)
        func record(_ kind: String, _ url: String, _ block: [UInt8], _ more: String = "") -> [UInt8] {
            Array(
                """
                WARC/1.0\r\nWARC-Type: \(kind)\r\nWARC-Target-URI: <\(url)>\r\nWARC-Date: 2026-01-31T08:00:00Z\r\n\(more)\
                Content-Type: application/http;msgtype=response\r\nContent-Length: \(block.count)\r\n\r\n
                """.utf8) + block + Array("\r\n\r\n".utf8)
        }
        let page =
            Array(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nSet-Cookie: a=b\r\n\r\n".utf8)
            + coded
        let image = Array(
            "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".utf8
        )
        let file =
            record("response", "http://h.example/robots.txt", Array("HTTP/1.1 404 No\r\n\r\n".utf8))
            + record("response", "http://h.example/", page) + record("response", "http://h.example/i.png", image)
            + record("response", "dns:h.example", Array("1.2.3.4".utf8))
            + record("resource", "http://h.example/r", Array("x".utf8))
            + record("response", "http://h.example/cut", Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx".utf8))
        try await withFixture { fixture async throws in
            let status = try await fixture.restore(file)
            #expect(status.state == .partial && status.url == "http://h.example/")
            let records = try await fixture.resources(status.key)
            #expect(records.map(\.url) == ["robots.txt", "", "i.png", "cut"].map { "http://h.example/\($0)" })
            #expect(records.map(\.problem) == [nil, nil, nil, "the body is shorter than its Content-Length"])
            let stored = try #require(fixture.manager.stored(status.key))
            let page = try #require(PageManifest(of: stored)?.newest)
            #expect(page.captured == 3 && page.missing == 1 && !page.isLimited)
            #expect(page.skipped == .init(noResponse: 1, otherURL: 1))
            let document = try #require(records[1].answer)
            #expect(
                document.length == 35 && document.fields[.contentEncoding] == nil && document.fields[.setCookie] == nil)
            #expect(records[2].answer?.length == 3 && records[2].date == Timestamp(rfc3339: "2026-01-31T08:00:00Z"))
        }
    }

    @Test("A file that is no archive, a cut archive and an archive without the page are refused with the reason")
    func refused() async throws {
        try await withFixture { fixture async throws in
            let cases: [([UInt8], String)] = [
                (Array("hello".utf8), "a record does not begin"), ([0x50, 0x4b, 3, 4, 0], "no ZIP directory"),
                ([0x1f, 0x8b, 0, 0, 1, 2, 3], "damaged"),
                (Array("WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 9\r\n\r\nx".utf8), "ends within"),
            ]
            for (bytes, reason) in cases {
                let status = try await fixture.restore(bytes + [10, 10], "http://h.example/")
                #expect(status.state == .failed)
                #expect(status.problem?.description.contains(reason) == true, "\(String(describing: status.problem))")
            }
            let empty = try fixture.archive(Array("WARC/1.1\r\nContent-Length: 0\r\n\r\n\r\n\r\n".utf8))
            #expect(throws: PageError.noPage) { try fixture.manager.page(in: empty) }
        }
    }

    @Test("An archive with its page beyond the limit of URLs is refused with the limit")
    func pageBeyondLimit() async throws {
        try await withFixture { fixture async throws in
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n"
            let file = (1...3).map { number in
                "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://h.example/\(number)\r\n"
                    + "Content-Type: application/http\r\nContent-Length: \(head.utf8.count)\r\n\r\n\(head)\r\n\r\n"
            }
            var request = PageRequest(url: try CanonicalURL("http://h.example/3"))
            request.archive = try fixture.archive(Array(file.joined().utf8))
            request.limits.resources = 2
            let status = try await fixture.capture(request)
            let problem = try #require(status.problem?.description)
            let reason = "its first 2 URLs, the most of a capture, have no response for http://h.example/3"
            #expect(problem.contains(reason), "\(problem)")
        }
    }

    @Test("The place of an archive is free as soon as its import has ended")
    func freePlaces() async throws {
        try await withFixture { fixture async throws in
            let files = try (0..<16).map { _ in try fixture.archive(Array("hello".utf8)) }
            var request = PageRequest(url: try CanonicalURL("http://h.example/"))
            request.archive = files[0]
            _ = try await fixture.capture(request)
            request.archive = try fixture.manager.makeArchive()
            #expect(throws: PageError.self) { try fixture.manager.page(in: files[1]) }
            _ = try fixture.manager.makeArchive()
            #expect(throws: PageError.tooManyArchives(limit: 16)) {
                let others = try (0..<3).map { _ in try fixture.manager.makeArchive() }
                _ = others
            }
            withExtendedLifetime((files, request)) {}
        }
    }

    /// A record with one block of spaces, which becomes a thousandth of its length.
    private static func spaces(_ length: Int, _ kind: WARCRecord.Kind = .metadata) -> [UInt8] {
        let gzip = GzipMember()
        var file: [UInt8] = []
        let record =
            WARCWriter.head(kind, [], length: Int64(length)) + Array(repeating: 0x20, count: length) + WARCWriter.end
        record.withUnsafeBytes { gzip.compress($0, into: &file) }
        gzip.finish(into: &file)
        return file
    }

    @Test("All WARC files in a ZIP file have one limit")
    func limit() async throws {
        try await withFixture { fixture async throws in
            var zip = ZipWriter(date: (0, 0))
            var output: [UInt8] = []
            for name in ["archive/a.warc.gz", "archive/b.warc.gz"] {
                let file = Self.spaces(600_000)
                output += zip.begin(name)
                file.withUnsafeBytes { zip.count($0) }
                output += file + zip.end()
            }
            let archive = try fixture.archive(output + zip.finish())
            try ArchiveReader(archive, limit: 1_300_000).records { _ in }
            #expect(throws: PageError.archiveTooLarge(limit: 1_000_000)) {
                try ArchiveReader(archive, limit: 1_000_000).records { _ in }
            }
            #expect(throws: PageError.archiveTooLarge(limit: 1_000_000)) {
                try ArchiveReader(archive, limit: 1_000_000).page()
            }
        }
    }

    @Test("The search for the page of an archive ends when it is cancelled, and when the server stops")
    func cancelledSearch() async throws {
        try await withFixture { fixture async throws in
            let archive = try fixture.archive(Self.spaces(8 << 20))
            let calls = Locked(0)
            #expect(throws: PageError.cancelled) {
                try fixture.manager.page(in: archive) {
                    calls.withLock { calls in
                        calls += 1
                        return calls > 3
                    }
                }
            }
            // The search has not read the rest, which has 128 pieces.
            #expect(calls.withLock(\.self) < 9)
            #expect(throws: PageError.noPage) { try fixture.manager.page(in: archive) }
            fixture.manager.stop()
            #expect(throws: PageError.stopping) { try fixture.manager.page(in: archive) }
        }
    }

    @Test("An archive takes a place and room on disk until it is released")
    func places() async throws {
        try await withFixture { fixture async throws in
            let before = fixture.cache.takenDiskBytes.all
            var archives = try (0..<16).map { _ in try fixture.archive(Array(repeating: 0, count: 1000)) }
            #expect(fixture.cache.takenDiskBytes.all == before + 16_000)
            #expect(throws: PageError.tooManyArchives(limit: 16)) { try fixture.manager.makeArchive() }
            archives.removeLast()
            #expect(fixture.cache.takenDiskBytes.all == before + 15_000)
            _ = try fixture.manager.makeArchive()
            #expect(throws: PageError.self) { try fixture.manager.makeArchive(length: .max / 2) }
            archives = []
            #expect(fixture.cache.takenDiskBytes.all == before)
        }
    }
}
