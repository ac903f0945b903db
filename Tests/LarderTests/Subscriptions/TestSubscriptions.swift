import DiskCache
import Logging
import Origin
import Primitives
import TestSupport
import Testing

@testable import Larder
@testable import Outbox

/// A server with a clock of its own, for tests of subscriptions.
final class TestSubscriptions: Sendable {
    let temporary: TemporaryDirectory
    let clock = ManualClock()
    /// Of all servers on the directories.
    let log = LogRecorder()
    private let current: Locked<LarderService>

    var server: LarderService { current.withLock(\.self) }
    var service: SubscriptionService { server.subscriptions }
    var cache: DiskCache { server.namespaces.default.cache }

    static func withOne(_ body: (TestSubscriptions) async throws -> Void) async throws {
        let test = try TestSubscriptions()
        do {
            try await body(test)
        } catch {
            try await blocking { test.server.close() }
            throw error
        }
        try await blocking { test.server.close() }
    }

    private init() throws {
        temporary = try TemporaryDirectory("larder-subscriptions")
        current = Locked(try Self.makeServer(temporary, clock, log))
    }

    private static func makeServer(
        _ temporary: TemporaryDirectory, _ clock: ManualClock, _ log: LogRecorder
    ) throws -> LarderService {
        var configuration = Configuration()
        configuration.directory = temporary.path("cache")
        configuration.stateDirectory = temporary.path("state")
        configuration.layout = .hashed
        configuration.allowedOrigins = [try AddressRule("127.0.0.0/8")]
        let logger = Logger(label: "test", factory: { _ in log.handler })
        return try LarderService(configuration: configuration, clock: clock, logger: logger)
    }

    /// Stops the server, runs `meanwhile`, and starts another one on the same directories.
    func restart(_ meanwhile: @Sendable @escaping () throws -> Void = {}) async throws {
        let (old, temporary, clock, log) = (server, temporary, clock, log)
        let next = try await blocking {
            old.close()
            try meanwhile()
            return try Self.makeServer(temporary, clock, log)
        }
        current.withLock { $0 = next }
    }

    // MARK: - Calls

    /// Puts a definition, with no pause between two requests unless the definition says otherwise.
    @discardableResult
    func put(_ name: String, _ json: JSON, in namespace: String = "default") async throws -> SubscriptionReport {
        guard case .object(var members) = json else { fatalError("a definition is an object") }
        if json["minGap"] == nil { members.append(.init("minGap", 0)) }
        let definition = try SubscriptionDefinition(name: name, .object(members))
        return try await result { self.service.put(definition, in: namespace, completion: $0) }.report
    }

    func report(_ name: String, in namespace: String = "default") async throws -> SubscriptionReport {
        try await result { self.service.find(name, in: namespace, completion: $0) }
    }

    func items(_ name: String) async throws -> [SubscriptionItem] {
        try await result { self.service.items(of: name, in: "default", from: 0, limit: 1000, completion: $0) }.items
    }

    @discardableResult
    func refresh(_ name: String, in namespace: String = "default") async throws -> SubscriptionReport {
        try await result { self.service.refresh(name, in: namespace, completion: $0) }
    }

    @discardableResult
    func remove(_ name: String, keepingCopies: Bool) async throws -> Int {
        try await result {
            self.service.remove(name, in: "default", keepingCopies: keepingCopies, completion: $0)
        }
    }

    /// The names of all subscriptions.
    func names(in namespace: String = "default") async throws -> [String] {
        let page = try await result { self.service.list(in: namespace, after: "", limit: 100, completion: $0) }
        return page.reports.map(\.name)
    }

    /// Whether a host wants a pause.
    var isPaused: Bool { service.queue.sync { !service.pacer.allPauses(at: clock.now()).isEmpty } }

    /// Whether a running refresh has the answer for a member.
    func isSettled(_ key: String) -> Bool {
        service.queue.sync { service.sets.values.contains { $0.machine.members[key]?.step == .settled } }
    }

    func setCredential(_ name: String, _ credential: OutboxCredential) async throws {
        let result: Result<Void, OutboxFailure> = await withCheckedContinuation { continuation in
            server.outbox.setCredential(name, credential, in: "default") { continuation.resume(returning: $0) }
        }
        try result.get()
    }

    func removeCredential(_ name: String) async throws {
        let result: Result<Void, OutboxFailure> = await withCheckedContinuation { continuation in
            server.outbox.removeCredential(name, in: "default") { continuation.resume(returning: $0) }
        }
        try result.get()
    }

    /// Runs SQL in the outbox's database, for example to hide a table.
    func executeInOutbox(_ sql: String) throws {
        let outbox = server.outbox
        try outbox.queue.sync {
            guard case .open(let store, _) = outbox.phase else { throw NoDatabase() }
            try store.database.write { try $0.execute(sql: sql) }
        }
    }

    /// Removes a namespace with its subscriptions, as the API does.
    func removeNamespace(_ name: String) async throws {
        let space = try #require(try await result { self.service.seal(name, completion: $0) })
        let namespaces = server.namespaces
        let result: Result<Int64, NamespaceError> = await withCheckedContinuation { continuation in
            namespaces.remove(name, by: .operator) { continuation.resume(returning: $0) }
        }
        _ = try result.get()
        await withCheckedContinuation { continuation in
            service.discard(name, space) { continuation.resume() }
        }
    }

    func makeNamespace(_ name: String, version: String = "1") async throws {
        var change = NamespaceChange()
        change.version = .some(version)
        let namespaces = server.namespaces
        let result: Result<Void, NamespaceError> = await withCheckedContinuation { continuation in
            namespaces.put(name, change, by: .operator) { continuation.resume(returning: $0.map { _ in () }) }
        }
        try result.get()
    }

    private func result<Value: Sendable>(
        of begin: (@escaping SubscriptionService.Completion<Value>) -> Void
    ) async throws -> Value {
        let result: Result<Value, SubscriptionFailure> = await withCheckedContinuation { continuation in
            begin { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Advances the clock, and lets the service look at it.
    func turn(_ time: Duration) {
        clock.advance(by: time)
        service.clockChanged()
    }

    /// Waits until the report fulfils a condition.
    @discardableResult
    func wait(
        _ name: String, in namespace: String = "default", until condition: (SubscriptionReport) -> Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> SubscriptionReport {
        try await poll(file: sourceLocation.fileID, line: sourceLocation.line) {
            try await report(name, in: namespace)
        } until: { found in
            if condition(found) { return true }
            service.clockChanged()
            return false
        }
    }

    /// Waits for a line of the log that contains a text.
    func waitForLine(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        let lines = try await poll(file: sourceLocation.fileID, line: sourceLocation.line) {
            log.lines.elements
        } until: {
            $0.contains { $0.contains(text) }
        }
        return try #require(lines.first { $0.contains(text) })
    }

    /// Waits for a generation after which no work is left.
    @discardableResult
    func wait(
        _ name: String, in namespace: String = "default", generation: Int64,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> SubscriptionReport {
        try await wait(
            name, in: namespace, until: { $0.generation >= generation && !$0.isRefreshing },
            sourceLocation: sourceLocation)
    }

    func key(_ url: String) throws -> String { CacheKey.url(canonical: try CanonicalURL(url).string).text }

    /// The body that readers get for a URL; `nil` without a copy.
    func body(_ url: String) async throws -> String? {
        guard let stored = try await cache.stored(try key(url)) else { return nil }
        return try stored.body.bytes().withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}
