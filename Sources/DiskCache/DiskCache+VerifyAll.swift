import Foundation
import GRDB
import Primitives

extension DiskCache {
    /// Checks every body against the index, and the index against itself. Changes no data. Blocks while it reads all
    /// bodies. During this call, no other thread or process may use the cache. Returns the number of entries.
    package func verifyAll(_ report: (VerificationFinding) -> Void) throws(DiskCacheError) -> Int {
        for problem in try parts.index.list({ try String.fetchAll($0, sql: "PRAGMA integrity_check(20)") })
        where problem != "ok" {
            report(.damagedIndex(reason: problem))
        }
        var counted = Totals()
        var checked = 0
        var lastID: Int64 = 0
        var slots = Set<Slot>()
        while true {
            let rows = try parts.reader.rows(.rows(after: lastID), limit: 500)
            guard let last = rows.last else { break }
            lastID = last.id
            checked += rows.count
            for row in rows {
                if let slot = row.slot, !slots.insert(slot).inserted {
                    report(.damagedIndex(reason: "two entries have the slot \(slot.code)"))
                }
                if let finding = try finding(row) { report(finding) }
                counted.add(row)
            }
        }
        try verifyTotals(counted, report)
        try verify(slots, report)
        try verifyTree(report)
        return checked
    }

    private func verify(_ slots: Set<Slot>, _ report: (VerificationFinding) -> Void) throws(DiskCacheError) {
        let map = try parts.index.list { try SlabMap($0) }
        let unknown = slots.filter { !map.isUsed($0) }.count
        if unknown > 0 { report(.damagedIndex(reason: "\(unknown) slots of entries are not marked as used")) }
        let strangers = map.usedCount - (slots.count - unknown)
        if strangers > 0 { report(.orphanSlots(count: strangers)) }
    }

    private func finding(_ row: EntryRow) throws(DiskCacheError) -> VerificationFinding? {
        let entry = row.entry
        guard let path = row.path else {
            guard let slot = row.slot else { return .missing(key: entry.key, path: nil) }
            return try parts.slab.body(of: entry, in: slot) != nil ? nil : .corrupt(key: entry.key, path: nil)
        }
        do throws(DiskCacheError) {
            let (file, status) = try parts.bodies.open(path, length: entry.contentLength)
            let isWhole = status?.identity.size == entry.contentLength
            let digest = isWhole ? try file.digest() : []
            return digest == entry.digest ? nil : .corrupt(key: entry.key, path: entry.localPath)
        } catch {
            guard case .fileSystem(_, _, let code) = error else { throw error }
            guard code == ENOENT || code == ENOTDIR else { return .corrupt(key: entry.key, path: entry.localPath) }
            return .missing(key: entry.key, path: entry.localPath)
        }
    }

    private func verifyTotals(_ counted: Totals, _ report: (VerificationFinding) -> Void) throws(DiskCacheError) {
        let (stated, strangers, unused) = try parts.index.list { db in
            let strangers = try Self.strangers.reduce(0) { try $0 + (Int.fetchOne(db, sql: $1) ?? 0) }
            return (try Totals(db), strangers, try Int.fetchOne(db, sql: Self.unusedResources) ?? 0)
        }
        if unused > 0 { report(.unusedResources(count: unused)) }
        if strangers > 0 { report(.orphanInIndex(count: strangers)) }
        if stated.smallBytes != counted.smallBytes {
            report(
                .wrongTotal(name: "bytes in the small queue", stated: stated.smallBytes, counted: counted.smallBytes))
        }
        for kind in Entry.Kind.allCases {
            let (stated, counted) = (stated.kinds[kind] ?? Totals.Kind(), counted.kinds[kind] ?? Totals.Kind())
            for (name, stated, counted) in [
                ("entries", stated.entries, counted.entries), ("body bytes", stated.bodyBytes, counted.bodyBytes),
                ("disk bytes", stated.diskBytes, counted.diskBytes),
                ("pinned bytes", stated.pinnedBytes, counted.pinnedBytes),
            ] where stated != counted {
                report(.wrongTotal(name: "\(name) of kind \(kind.rawValue)", stated: stated, counted: counted))
            }
        }
    }

    /// Count the rows that belong to no entry, no capture, no resource or no holder, and the entries with a wrong
    /// number of holders.
    private static let strangers = [
        "SELECT COUNT(*) FROM tags WHERE id NOT IN (SELECT id FROM entries)",
        "SELECT COUNT(*) FROM captures WHERE page NOT IN (\(ids(of: .page)))",
        "SELECT COUNT(*) FROM uses WHERE capture NOT IN (SELECT number FROM captures)",
        "SELECT COUNT(*) FROM holds WHERE holder NOT IN (SELECT id FROM holders)",
        "SELECT COUNT(*) FROM holds WHERE entry NOT IN (SELECT id FROM entries)",
        """
        SELECT COUNT(*) FROM entries \
        WHERE pinned / \(EntryRow.heldUnit) <> (SELECT COUNT(*) FROM holds WHERE entry = entries.id)
        """,
        "SELECT COUNT(*) FROM uses WHERE resource NOT IN (\(ids(of: .resource)))",
    ]
    private static func ids(of kind: Entry.Kind) -> String { "SELECT id FROM entries WHERE kind = \(kind.code)" }

    private static let unusedResources = """
        SELECT COUNT(*) FROM entries WHERE kind = \(Entry.Kind.resource.code) AND id NOT IN (SELECT resource FROM uses)
        """

    private func verifyTree(_ report: (VerificationFinding) -> Void) throws(DiskCacheError) {
        var tree = try BodyTree(parts.bodies)
        while let paths = try tree.next() {
            let known = try parts.reader.knownPaths(paths)
            for path in paths where !known.contains(ExactText(path)) {
                report(.orphan(path: parts.bodies.absolute(path)))
            }
        }
        for name in try FileSystem.names(in: parts.bodies.incoming) where name != "intents" {
            report(.leftover(path: parts.bodies.incoming + "/" + name))
        }
    }
}

package enum VerificationFinding: Hashable, Sendable {
    case missing(key: String, path: String?)
    case corrupt(key: String, path: String?)
    /// A file in a directory of bodies belongs to no entry.
    case orphan(path: String)
    /// Tags, captures, uses or holds in the index belong to no entry, or entries have a wrong number of holders.
    case orphanInIndex(count: Int)
    /// Resources of pages that no capture uses.
    case unusedResources(count: Int)
    /// Slots of the slab are marked as used, but belong to no entry.
    case orphanSlots(count: Int)
    case leftover(path: String)
    case wrongTotal(name: String, stated: Int64, counted: Int64)
    /// SQLite's integrity check fails, two entries name the same slot, or the slot of an entry is not marked as used.
    case damagedIndex(reason: String)
}

extension VerificationFinding: CustomStringConvertible {
    package var description: String {
        switch self {
        case .missing(let key, let path): "missing body of \(key) (\(path ?? "in the slab"))"
        case .corrupt(let key, let path): "corrupt body of \(key) (\(path ?? "in the slab"))"
        case .orphan(let path): "body without an entry: \(path)"
        case .orphanInIndex(let count): "\(count) tags, captures, uses or holds in the index without an entry"
        case .unusedResources(let count): "\(count) resources of pages without a capture"
        case .orphanSlots(let count): "\(count) slots of the slab without an entry"
        case .leftover(let path): "leftover: \(path)"
        case .wrongTotal(let name, let stated, let counted): "total of \(name) is \(stated), but there are \(counted)"
        case .damagedIndex(let reason): "damaged index: \(reason)"
        }
    }
}
