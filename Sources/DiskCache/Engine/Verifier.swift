import Dispatch
import Foundation
import Primitives

/// Verifies bodies by reading them, one at a time, on its own queue. Damaged entries are removed only on the writer's
/// thread and after a second check, because a body may be replaced between the reads of its row and its file.
final class Verifier: Sendable {
    private let parts: CacheParts
    private let writer: Writer
    private let queue = DispatchQueue(label: "larder.diskcache.verify", qos: .utility)
    /// Callers by key. A verification answers all callers that came while it ran.
    private let waiting = Locked<[ExactText: [Completion<StoredEntry?>]]>([:])

    init(_ parts: CacheParts, writer: Writer) {
        self.parts = parts
        self.writer = writer
    }

    func verify(_ key: String, completion: @escaping Completion<StoredEntry?>) {
        let isFirst = waiting.withLock { waiting in
            waiting[ExactText(key), default: []].append(completion)
            return waiting[ExactText(key)]?.count == 1
        }
        guard isFirst else { return }
        queue.async { [self] in
            let result = Result { () throws(DiskCacheError) in try check(key, evenIfUntouched: false) }
            let completions = waiting.withLock { $0.removeValue(forKey: ExactText(key)) } ?? []
            for completion in completions { completion(result) }
        }
    }

    /// Waits for the writer and the disk. `evenIfUntouched`: also reads a file with an unchanged identity.
    func check(_ key: String, evenIfUntouched: Bool) throws(DiskCacheError) -> StoredEntry? {
        var suspect: Suspect?
        // The second round, which judges the file that the first round has read, returns unless the entry was replaced.
        for _ in 0..<16 {
            let judged = suspect
            let finding = try writer.perform { context in
                if let judged { return try Self.judge(judged, context) }
                return try Self.inspect(key, context, evenIfUntouched: evenIfUntouched)
            }
            switch finding {
            case .absent: return nil
            case .intact(let entry, .bytes(let bytes)): return StoredEntry(entry: entry, body: .bytes(bytes))
            case .intact(let entry, .file(let file)):
                return StoredEntry(entry: entry, body: try file.stored(upTo: parts.wholeReadLimit))
            case .damaged(let entry):
                parts.log(
                    DiskCacheNotice(
                        .warning, "a body was damaged or missing, and its entry was removed",
                        ["key": .text(entry.key), "path": .text(entry.localPath ?? "(in the slab)")]))
                return nil
            case .suspect(var found):
                let isWhole = found.status.identity.size == found.row.entry.contentLength
                do throws(DiskCacheError) {
                    found.isGood = isWhole ? try found.file.digest() == found.row.entry.digest : false
                } catch  where error.isMissingFile {
                    // The disk cannot read the file, so the body is lost.
                    found.isGood = false
                }
                suspect = found
            case .changed: suspect = nil
            }
        }
        throw .versionChanged
    }

    private struct Suspect: Sendable {
        var row: EntryRow
        var path: String
        var file: BodyFile
        var status: FileStatus
        var isGood = false
    }

    private enum Finding: Sendable {
        case absent
        case intact(Entry, StoredBody)
        case damaged(Entry)
        case suspect(Suspect)
        case changed
    }

    private static func inspect(_ key: String, _ context: WriteContext, evenIfUntouched: Bool) throws -> Finding {
        guard let row = try context.index.row(forKey: key) else { return .absent }
        if let path = row.path {
            if let (file, status) = try open(row, path, context) {
                let isUntouched = status.identity == row.identity && !evenIfUntouched
                return isUntouched
                    ? .intact(current(row, context), .file(file))
                    : .suspect(Suspect(row: row, path: path, file: file, status: status))
            }
        } else if let slot = row.slot,
            case .found((let bytes, let agrees)?) = try context.parts.slab.body(of: row.entry, in: slot, mayWait: true)
        {
            if evenIfUntouched, !agrees { try context.rewrite(row, bytes) }
            return .intact(current(row, context), .bytes(bytes))
        }
        try context.remove(row, because: .damaged)
        return .damaged(row.entry)
    }

    private static func judge(_ suspect: Suspect, _ context: WriteContext) throws -> Finding {
        guard let row = try context.index.row(forKey: suspect.row.entry.key),
            row.entry.version == suspect.row.entry.version, row.path == suspect.path,
            let (file, status) = try open(row, suspect.path, context), status.identity == suspect.status.identity
        else { return .changed }
        guard suspect.isGood else {
            try context.remove(row, because: .damaged)
            return .damaged(row.entry)
        }
        if status.identity != row.identity {
            try context.index.setFile(of: row.id, path: suspect.path, identity: status.identity)
        }
        return .intact(current(row, context), .file(file))
    }

    /// The entry of a row, with its pending hits and renewed expiry date. No flush of hits comes in between, because
    /// flushes run on this thread.
    private static func current(_ row: EntryRow, _ context: WriteContext) -> Entry {
        row.entry.applying(context.parts.hits.pending(row.entry.key))
    }

    private static func open(
        _ row: EntryRow, _ path: String, _ context: WriteContext
    ) throws(DiskCacheError) -> (BodyFile, FileStatus)? {
        do {
            let (file, status) = try context.parts.bodies.open(path, length: row.entry.contentLength)
            return status.flatMap { $0.isRegular ? (file, $0) : nil }
        } catch  where error.isMissingFile {
            return nil
        }
    }
}
