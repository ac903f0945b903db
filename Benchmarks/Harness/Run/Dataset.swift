import Foundation

/// A cache directory with many entries of 1 KiB, and the targets of the entries.
struct Dataset {
    let directory: URL
    let count: Int

    /// The length of each body.
    static let bodyBytes = 1 << 10
    /// The number of tags. Each tag is on an equal share of the entries.
    static let tags = 10

    /// The target of entry `number`.
    static func target(_ number: Int) -> String { "/entries/entry-\(number)/content" }

    /// The tag of entry `number`.
    static func tag(_ number: Int) -> String { "tag-\(number % tags)" }

    /// The number of entries of a large dataset.
    static func large(_ bench: Bench) -> Int { bench.settings.isQuick ? 20_000 : 1_000_000 }

    /// Stores the entries of `numbers` over 64 connections at once, so that stores share transactions.
    static func store(_ numbers: [Int], on server: Server) throws {
        let body = Data(repeating: UInt8(ascii: "x"), count: bodyBytes)
        let port = server.port
        try inParallel(64, numbers) { numbers in
            let connection = try HTTPConnection(port: port)
            for number in numbers {
                let answer = try connection.send(
                    "PUT", "\(target(number))?ttl=604800&tags=\(tag(number))", body: body)
                guard answer.status == 201 || answer.status == 200 else {
                    throw BenchmarkError("PUT of entry \(number): \(answer.status) \(answer.text)")
                }
            }
        }
    }
}

extension Bench {
    /// A dataset of `count` entries, with a separate directory for each `copy`. The first call creates the dataset,
    /// which is kept until the run ends.
    func dataset(_ count: Int, copy: Int = 0) throws -> Dataset {
        let directory = work.appendingPathComponent("dataset-\(count)-\(copy)")
        let dataset = Dataset(directory: directory, count: count)
        if FileManager.default.fileExists(atPath: directory.path) { return dataset }
        note("storing \(count) entries")
        let server = try Larder.start(self, directory: directory)
        try Dataset.store(Array(0..<count), on: server)
        server.process.stop()
        return dataset
    }
}

/// Divides `elements` among threads and waits for all threads. Throws the first error that a thread threw.
func inParallel<Element: Sendable>(
    _ threads: Int, _ elements: [Element], _ body: @escaping @Sendable (ArraySlice<Element>) throws -> Void
) throws {
    let group = DispatchGroup()
    let failures = FirstError()
    let share = (elements.count + threads - 1) / max(1, threads)
    for start in stride(from: 0, to: elements.count, by: max(1, share)) {
        let slice = elements[start..<min(start + share, elements.count)]
        group.enter()
        Thread {
            do { try body(slice) } catch { failures.note(error) }
            group.leave()
        }.start()
    }
    group.wait()
    try failures.rethrow()
}

/// The first error of many threads.
///
/// `@unchecked Sendable` is safe because `error` is only accessed while `lock` is held.
final class FirstError: @unchecked Sendable {
    private let lock = NSLock()
    private var error: (any Error)?

    func note(_ new: any Error) {
        lock.withLock { error = error ?? new }
    }

    func rethrow() throws {
        if let error = lock.withLock({ error }) { throw error }
    }
}
