import DiskCache
import HTTPTypes
import Origin
import Primitives
import TestSupport
import WebArchive

@testable import Larder

/// A cache and an origin client for captures of pages on loopback addresses.
struct TestCaptures {
    let cache: DiskCache
    let directory: String
    let tools: FetchTools

    static func withOne(_ body: (TestCaptures) async throws -> Void) async throws {
        let temporary = try TemporaryDirectory("larder-pages")
        let cache = try DiskCache(
            in: try CacheDirectory(path: temporary.path("cache")), configuration: CacheConfiguration())
        defer { cache.close() }
        var configuration = OriginConfiguration()
        configuration.addressPolicy = AddressPolicy(allowing: [try AddressRule("127.0.0.0/8")])
        let client = OriginClient(configuration: configuration)
        defer { client.shutDown() }
        let tools = FetchTools(
            cache: cache, origin: client, clock: SystemClock(), metrics: ServiceMetrics(), options: NamespaceOptions())
        try await body(TestCaptures(cache: cache, directory: temporary.path("cache"), tools: tools))
    }

    /// Captures a page. The bodies stay as long as the returned capture.
    func capture(
        _ url: String, fields: HTTPFields = [:], cookies: [String] = [], limits: CaptureLimits = CaptureLimits(),
        advanced: @escaping @Sendable (OriginCapture) -> Void = { _ in },
        _ during: @escaping @Sendable (OriginCapture) -> Void = { _ in }
    ) async throws -> (result: VisitResult, page: PageCapture) {
        let page: PageCapture = try await outcome { cache.beginCapture(of: url, completion: $0) }
        let running = Locked<OriginCapture?>(nil)
        defer { running.withLock { $0 = nil } }
        let result = await withCheckedContinuation { continuation in
            let capture = OriginCapture(
                WebURL(url)!, fields: fields, cookies: cookies, limits: limits, into: page, tools: tools,
                advanced: { running.withLock(\.self).map(advanced) },
                completion: { continuation.resume(returning: $0) })
            running.withLock { $0 = capture }
            capture.start()
            during(capture)
        }
        return (result, page)
    }
}

extension VisitResult {
    /// The paths of the captured URLs with status 200.
    var paths: [String] {
        records.filter { $0.answer?.status == 200 }.compactMap { WebURL($0.url)?.path }.sorted()
    }

    func record(_ path: String) -> CaptureRecord? { records.first { WebURL($0.url)?.path == path } }
}
