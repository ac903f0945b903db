import Foundation
import Primitives
import TestSupport

@testable import DiskCache

/// A cache in its own directory. A test may open and close it several times. The clock moves only when a test sets it.
final class CacheFixture: Sendable {
    let temporary: TemporaryDirectory
    let directory: CacheDirectory
    let clock = ManualClock()
    let notices = Recorder<String>()
    let configuration: CacheConfiguration

    init(_ layout: Layout = .hashed, _ configure: (inout CacheConfiguration) -> Void = { _ in }) throws {
        temporary = try TemporaryDirectory("larder-diskcache")
        directory = try CacheDirectory(path: temporary.path("cache"))
        var configuration = CacheConfiguration()
        configuration.layout = layout
        // The tests must not depend on how full the machine's disk is.
        configuration.diskReserve = .bytes(0)
        configure(&configuration)
        self.configuration = configuration
    }

    /// The namespace's directory.
    var namespace: String { directory.path + "/default" }

    func open(
        _ configure: (inout CacheConfiguration) -> Void = { _ in },
        crashHook: @escaping @Sendable (CrashPoint) throws -> Void = { _ in }, sync: FileSync = .system,
        observer: (any EntryObserver)? = nil
    ) throws -> DiskCache {
        var configuration = configuration
        configure(&configuration)
        return try DiskCache(
            in: directory, configuration: configuration, clock: clock, observer: observer,
            log: { [notices] in notices.append($0.message) }, crashHook: crashHook, sync: sync)
    }

    /// Opens the cache while `body` runs.
    @discardableResult
    func withCache<Value>(
        _ configure: (inout CacheConfiguration) -> Void = { _ in }, _ body: (DiskCache) async throws -> Value
    ) async throws -> Value {
        let cache = try open(configure)
        defer { cache.close() }
        return try await body(cache)
    }
}

extension DiskCache {
    /// Stores a body under a URL.
    @discardableResult
    func store(
        _ body: String, url: String, kind: Entry.Kind = .download, ttl: Duration = .seconds(100), tags: [String] = [],
        _ change: (inout EntryMetadata) -> Void = { _ in }
    ) async throws -> Entry {
        var metadata = EntryMetadata(ttl: ttl)
        change(&metadata)
        let reservation = reserve(.url(canonical: url), kind: kind, url: url, tags: tags)
        try reservation.expect(length: Int64(body.utf8.count))
        try reservation.receive(Array(body.utf8))
        return try await reservation.publish(metadata).entry
    }

    /// Stores a body under a caller's key.
    @discardableResult
    func store(
        _ body: String, key: String, ttl: Duration = .seconds(100), tags: [String] = [],
        _ change: (inout EntryMetadata) -> Void = { _ in }
    ) async throws -> Entry {
        var metadata = EntryMetadata(ttl: ttl)
        change(&metadata)
        let reservation = reserve(try .data(key), kind: .data, tags: tags, pinned: metadata.pinned)
        try reservation.expect(length: Int64(body.utf8.count))
        try reservation.receive(Array(body.utf8))
        return try await reservation.publish(metadata).entry
    }

    /// Empties the memory tier. Entries stay on disk. No ready answer is left when this method returns.
    func emptyMemory() { parts.memory.removeAll() }

    /// Returns the body of a URL's entry as text; `nil` when there is none.
    func text(url: String) async throws -> String? {
        try await stored(CacheKey.url(canonical: url).text, expectingURL: url)?.text()
    }

    /// Returns the body under a caller's key as text; `nil` when there is none.
    func text(key: String) async throws -> String? {
        try await stored(key)?.text()
    }

    func entry(url: String) throws -> Entry? {
        try entry(for: CacheKey.url(canonical: url).text, expectingURL: url)
    }

    /// Returns the findings of ``verifyAll(_:)``.
    func findings() throws -> [VerificationFinding] {
        // Verifies between two transactions, because a replaced body is removed only after the transaction was
        // acknowledged, and because the writer may move bodies.
        let (held, verified) = (Gate("writer held"), Gate("all is verified"))
        writer.submit(
            { _ in
                held.open()
                try verified.waitBlocking()
            },
            // A closed writer does not run the operation. It changes no file, so the verification may begin.
            completion: { _ in held.open() })
        defer { verified.open() }
        try held.waitBlocking()
        var findings: [VerificationFinding] = []
        _ = try verifyAll { findings.append($0) }
        return findings
    }

    /// Returns all keys of a listing, page by page.
    func keys(_ filter: EntryFilter = .all, sort: EntrySort = .key, limit: Int = 100) throws -> [String] {
        var keys: [String] = []
        var cursor: String?
        repeat {
            let page = try list(filter, sort: sort, limit: limit, cursor: cursor)
            keys += page.entries.map(\.key)
            cursor = page.nextCursor
        } while cursor != nil
        return keys
    }

    /// Blocks the writer's thread until the gate opens. All work that is submitted until then shares a transaction.
    func holdWriter(until gate: Gate) async throws {
        let held = Gate("writer held")
        writer.submit(
            { _ in
                held.open()
                try gate.waitBlocking()
            }, completion: { _ in })
        try await held.wait()
    }
}

extension StoredEntry {
    func text() throws -> String {
        try body.bytes().withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}

/// Returns the paths of all files below a directory, relative to the directory and sorted.
func files(below directory: String) -> [String] {
    let all = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
    return all.filter { FileSystem.status(of: directory + "/" + $0)?.isDirectory == false }.sorted()
}

/// Changes the file at `path` in place.
func edit(_ path: String, _ change: (inout Data) throws -> Void) throws {
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    try change(&data)
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try file.truncate(atOffset: UInt64(data.count))
    try file.seek(toOffset: 0)
    try file.write(contentsOf: data)
    try file.close()
}

/// Returns a text of `length` bytes. Texts of different seeds differ.
func longText(_ length: Int, _ seed: String = "x") -> String {
    String(String(repeating: seed + "-0123456789abcdef;", count: length / (seed.count + 18) + 1).prefix(length))
}

/// Returns the SHA-256 of a text.
func digest(of text: String) -> [UInt8] {
    Array(text.utf8).withUnsafeBytes { digest(of: $0) }
}

/// Stores `count` small entries under the keys `k0000000`, `k0000001`, …, up to 500 at a time.
func fill(_ cache: DiskCache, _ count: Int, from first: Int = 0) async throws {
    let failures = Recorder<DiskCacheError>()
    for start in stride(from: first, to: first + count, by: 500) {
        let numbers = start..<min(start + 500, first + count)
        let done = Counter("stored")
        for number in numbers {
            let reservation = cache.reserve(try .data(fillKey(number)), kind: .data)
            try reservation.receive(Array("body \(number)".utf8))
            reservation.publish(EntryMetadata(ttl: .seconds(100))) { result in
                if case .failure(let error) = result { failures.append(error) }
                done.add()
            }
        }
        try await done.wait(for: numbers.count)
    }
    if let error = failures.elements.first { throw error }
}

func fillKey(_ number: Int) -> String {
    "k" + String(String(10_000_000 + number).dropFirst())
}

/// Calls `body` in parallel for each number below `count`, on threads that run no tasks.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) async {
    await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
            DispatchQueue.concurrentPerform(iterations: count, execute: body)
            continuation.resume()
        }
    }
}
