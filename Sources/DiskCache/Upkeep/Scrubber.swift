import Dispatch
import GRDB
import Primitives

/// Looks for silent rot and for bodies without rows, a little at a time, round after round.
final class Scrubber: Sendable {
    private struct Progress: Sendable {
        /// The last row of this round that was looked at.
        var lastID: Int64 = 0
        /// What is left of the tree in this round; `nil`: it was not begun.
        var tree: BodyTree?
    }

    /// How much one step reads at most, but for the last body.
    private static let stepBytes: Int64 = 16 << 20
    private static let stepRows = 200
    private static let stepDirectories = 200

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

    /// Looks at the next few bodies and directories, in the background.
    ///
    /// - Parameter wholeTree: whether every directory is looked at, because the index is new and knows nothing of
    ///   what is there.
    func step(wholeTree: Bool, completion: @escaping @Sendable (Result<Void, DiskCacheError>) -> Void) {
        queue.async { [self] in
            do throws(DiskCacheError) {
                try scrubBodies()
                try scrubTree(directories: wholeTree ? .max : Self.stepDirectories)
                completion(.success(()))
            } catch {
                completion(.failure(error))
            }
        }
    }

    private func scrubBodies() throws(DiskCacheError) {
        let lastID = progress.withLock { $0.lastID }
        var query = EntryQuery(.all, now: parts.clock.now())
        query.restrict("entries.id > ?", [lastID])
        query.sort(by: "entries.id")
        let rows = try parts.reader.rows(query, limit: Self.stepRows)
        var bytes: Int64 = 0
        for row in rows where bytes < Self.stepBytes {
            bytes += row.entry.contentLength
            // Before the check: one body that cannot be checked must not keep the others from it.
            progress.withLock { $0.lastID = row.id }
            _ = try verifier.check(row.entry.key, evenIfUntouched: true)
        }
        if rows.isEmpty { progress.withLock { $0.lastID = 0 } }
    }

    private func scrubTree(directories: Int) throws(DiskCacheError) {
        var tree: BodyTree
        if let begun = progress.withLock({ $0.tree }) { tree = begun } else { tree = try BodyTree(parts.bodies) }
        var looked = 0
        var removed = 0
        defer {
            if removed > 0 {
                parts.log(DiskCacheNotice(.warning, "bodies without an entry were removed", ["count": "\(removed)"]))
            }
        }
        while looked < directories {
            guard let paths = try tree.next() else {
                progress.withLock { $0.tree = nil }
                return
            }
            looked += 1
            removed += try removeOrphans(paths)
        }
        let rest = tree
        progress.withLock { $0.tree = rest }
    }

    /// Removes those of the files that are nobody's body. What was published since the tree was read is somebody's by the
    /// time the writer looks. Returns how many were removed.
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
