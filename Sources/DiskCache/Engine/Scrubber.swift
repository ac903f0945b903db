import Dispatch
import Primitives

/// Looks for silent damage and for bodies without rows. Checks a small part at a time, and all parts again and again.
final class Scrubber: Sendable {
    private struct Progress: Sendable {
        var lastID: Int64 = 0
        var tree: BodyTree?
    }

    struct Pace: Equatable {
        var rows: Int
        /// The most bytes of bodies to read in a step. The last body may go beyond this number.
        var bytes: Int64

        /// With a step every minute, a pass over up to 7 million entries and 180 GiB ends within a day: half a day for
        /// the rows, half a day for the bytes (about 4 MiB/s). A small cache is checked more often.
        init(for totals: CacheTotals) {
            rows = Int(min(max(totals.entries / 720 + 1, 200), 10_000))
            bytes = min(max(totals.bodyBytes / 720 + 1, 16 << 20), 256 << 20)
        }
    }

    private static let rowsAtOnce = 200
    private let parts: CacheParts
    private let writer: Writer
    private let verifier: Verifier
    private let queue = DispatchQueue(label: "larder.diskcache.scrub", qos: .background)
    private let progress = Locked(Progress())

    init(_ parts: CacheParts, writer: Writer, verifier: Verifier) {
        self.parts = parts
        self.writer = writer
        self.verifier = verifier
    }

    /// Checks the next bodies and directories in the background; with `wholeTree`, for a new index, every directory.
    func step(wholeTree: Bool, completion: @escaping Completion<Void>) {
        queue.async { [self] in
            let result = Result { () throws(DiskCacheError) in
                let pace = Pace(for: parts.totals.withLock { $0 })
                try scrubBodies(pace)
                try scrubTree(directories: wholeTree ? .max : pace.rows)
            }
            completion(result)
        }
    }

    private func scrubBodies(_ pace: Pace) throws(DiskCacheError) {
        var (rows, bytes) = (0, Int64(0))
        while rows < pace.rows, bytes < pace.bytes {
            let lastID = progress.withLock { $0.lastID }
            let query = EntryQuery.rows(after: lastID)
            let found = try parts.reader.rows(query, limit: min(Self.rowsAtOnce, pace.rows - rows))
            for row in found where bytes < pace.bytes {
                rows += 1
                bytes += row.entry.contentLength
                // Advances before the check, because a body that cannot be checked must not stop the scrubber.
                progress.withLock { $0.lastID = row.id }
                _ = try verifier.check(row.entry.key, evenIfUntouched: true)
            }
            if found.isEmpty {
                progress.withLock { $0.lastID = 0 }
                return
            }
        }
    }

    private func scrubTree(directories: Int) throws(DiskCacheError) {
        var tree: BodyTree
        if let begun = progress.withLock({ $0.tree }) { tree = begun } else { tree = try BodyTree(parts.bodies) }
        var (looked, removed) = (0, 0)
        defer {
            if removed > 0 {
                parts.log(
                    DiskCacheNotice(.warning, "bodies without an entry were removed", ["count": .number(removed)]))
            }
        }
        while looked < directories, let paths = try tree.next() {
            looked += 1
            removed += try removeOrphans(paths)
        }
        let rest = looked < directories ? nil : tree
        progress.withLock { $0.tree = rest }
    }

    /// Returns the number of removed files. The writer looks again, because a file may just have been published.
    private func removeOrphans(_ paths: [String]) throws(DiskCacheError) -> Int {
        let known = try parts.reader.knownPaths(paths)
        let strangers = paths.filter { !known.contains(ExactText($0)) }
        if strangers.isEmpty { return 0 }
        return try writer.perform { context in
            var removed = 0
            for path in strangers where try context.index.row(forPath: path) == nil {
                FileSystem.unlink(context.parts.bodies.absolute(path))
                context.parts.bodies.removeEmptyDirectories(above: path)
                removed += 1
            }
            return removed
        }
    }
}
