import GRDB
import Logging
import Origin
import Primitives
import StateDatabase
import TestSupport

@testable import DiskCache
@testable import Larder
@testable import Outbox

/// An outbox with a cache, a state directory and a clock of its own. The only namespace is `default`.
final class TestOutbox: Sendable {
    /// The names of the namespaces that exist.
    final class Names: Sendable {
        private let value = Locked<Set<String>>(["default"])
        /// The version of all namespaces.
        let version = Locked<String?>(nil)
        func set(_ names: Set<String>) { value.withLock { $0 = names } }
        func contains(_ name: String) -> Bool { value.withLock { $0.contains(name) } }
    }

    let names = Names()
    let temporary: TemporaryDirectory
    let cache: DiskCache
    let client: OriginClient
    let clock = ManualClock()
    let options: NamespaceOptions
    let log = LogRecorder()
    let sink = TestSink()
    let pending = PendingKeys()
    private let limits: OutboxLimits
    private let hub: EventHub
    private let current: Locked<OutboxService>

    var service: OutboxService { current.withLock(\.self) }
    var directory: String { temporary.path("state") }

    static func withOne(
        limits: OutboxLimits = OutboxLimits(), _ body: (TestOutbox) async throws -> Void
    ) async throws {
        let outbox = try TestOutbox(limits)
        defer { outbox.close() }
        try await body(outbox)
    }

    private init(_ limits: OutboxLimits) throws {
        self.limits = limits
        temporary = try TemporaryDirectory("larder-outbox")
        cache = try DiskCache(
            in: try CacheDirectory(path: temporary.path("cache")), configuration: CacheConfiguration(), clock: clock)
        var configuration = OriginConfiguration()
        // A rule without a port allows all ports.
        configuration.addressPolicy = AddressPolicy(allowing: [try AddressRule("127.0.0.0/8")])
        client = OriginClient(configuration: configuration)
        options = NamespaceOptions(serverPolicy: configuration.addressPolicy)
        hub = EventHub(clock: clock)
        let tools = FetchTools(
            cache: cache, origin: client, clock: clock, metrics: ServiceMetrics(), options: options)
        current = Locked(
            Self.makeService(temporary.path("state"), configuration, clock, hub, log, limits, tools, pending, names))
        service.start()
    }

    private static func makeService(
        _ directory: String, _ configuration: OriginConfiguration, _ clock: ManualClock, _ hub: EventHub,
        _ log: LogRecorder, _ limits: OutboxLimits, _ tools: FetchTools, _ pending: PendingKeys, _ names: Names
    ) -> OutboxService {
        OutboxService(
            OutboxService.Tools(
                directory: directory, origin: OutboxService.clientConfiguration(configuration), entryLimit: 1 << 22,
                clock: clock, events: hub, logger: Logger(label: "test", factory: { _ in log.handler }), limits: limits,
                pending: pending, namespace: { names.contains($0) ? tools : nil },
                version: { _ in names.version.withLock(\.self) }),
            random: SplitMix64(seed: 7))
    }

    /// Ends the service, and begins another one on the same directory.
    func restart() {
        service.stop()
        let tools = FetchTools(
            cache: cache, origin: client, clock: clock, metrics: ServiceMetrics(), options: options)
        let next = Self.makeService(directory, client.configuration, clock, hub, log, limits, tools, pending, names)
        current.withLock { $0 = next }
        next.start()
    }

    private func close() {
        service.stop()
        hub.stop()
        client.shutDown()
        cache.close()
    }

    /// Runs SQL in the outbox's database, for example to damage it.
    func execute(_ sql: String) throws {
        let service = service
        try service.queue.sync {
            guard case .open(let store, _) = service.phase else { throw NoDatabase() }
            try store.database.write { try $0.execute(sql: sql) }
        }
    }

    /// Runs SQL in the index of the cache, for example to let its changes fail.
    func executeInIndex(_ sql: String) async throws {
        try await outcome { then in
            cache.writer.submit({ try $0.index.db.execute(sql: sql) }, completion: then)
        }
    }

    /// Records the events from now on.
    func listen() throws {
        try hub.listen(sink, from: "127.0.0.1", to: EventFilter(), after: nil)
    }

    // MARK: - Calls

    @discardableResult
    func accept(
        _ request: ChangeRequest, in namespace: String = "default", by caller: String = "ada"
    ) async throws -> Change {
        try await result { self.service.accept(request, in: namespace, by: caller, completion: $0) }.change
    }

    /// A PUT of a JSON text on a version of a document that its author saw.
    func put(_ body: String, to document: TestDocument, seen: String) async throws -> Change {
        try await accept(Self.request(body, to: document, seen: seen))
    }

    static func request(_ body: String, to document: TestDocument, seen: String) throws -> ChangeRequest {
        var request = ChangeRequest(
            url: try CanonicalURL(document.url), content: .body(Array(body.utf8), type: "application/json"))
        request.base = .seen(Array(seen.utf8), etag: document.etag)
        return request
    }

    @discardableResult
    func decide(_ decision: OutboxService.Decision, _ change: Change) async throws -> Change {
        try await result { self.service.decide(decision, about: change.id, in: "default", completion: $0) }
    }

    func setCredential(_ name: String, _ value: String, for document: TestDocument) async throws {
        let credential = OutboxCredential(
            origins: ["http://127.0.0.1:\(document.origin.port)"], fields: [ChangeField("Authorization", value)])
        try await result { self.service.setCredential(name, credential, in: "default", completion: $0) }
    }

    func find(_ id: Change.ID) async throws -> Change {
        try await result { self.service.find(id, in: "default", completion: $0) }
    }

    /// Waits until a change has a state, and turns the clock so that no pause lasts.
    func wait(
        for state: ChangeState, of change: Change, turning: Bool = false
    ) async throws -> Change {
        try await poll {
            try await find(change.id)
        } until: { found in
            if found.state == state { return true }
            if turning {
                clock.advance(by: .seconds(1))
                service.clockChanged()
            }
            return false
        }
    }

    /// The body of a document as readers see it; `nil` without pending changes.
    func pendingBody(of document: TestDocument, seesSecrets: Bool = true) async throws -> PendingBody? {
        let key = CacheKey.url(canonical: try CanonicalURL(document.url).string).text
        return try await result {
            self.service.pendingBody(of: key, in: "default", seesSecrets: seesSecrets, completion: $0)
        }
    }

    /// The body that the cache has for a document.
    func cached(_ document: TestDocument) async throws -> String? {
        let key = CacheKey.url(canonical: try CanonicalURL(document.url).string).text
        guard let stored = try await cache.stored(key) else { return nil }
        return try stored.body.bytes().withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}

struct NoDatabase: Error {}

/// Waits for the result of a call of the outbox.
func result<Value: Sendable>(
    of begin: (@escaping OutboxService.Completion<Value>) -> Void
) async throws -> Value {
    let result: Result<Value, OutboxFailure> = await withCheckedContinuation { continuation in
        begin { continuation.resume(returning: $0) }
    }
    return try result.get()
}

/// Keeps the lines of a log.
final class LogRecorder: Sendable {
    let lines = Recorder<String>()

    var handler: any LogHandler { Handler(lines: lines) }

    private struct Handler: LogHandler {
        let lines: Recorder<String>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            lines.append("\(event.level): \(event.message) \(event.metadata ?? [:])")
        }
    }
}
