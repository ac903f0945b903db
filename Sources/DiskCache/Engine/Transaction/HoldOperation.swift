import Primitives

/// Reads the generation of a holder, and makes it anew from the entries if the index has lost the holder. As a part of
/// the writer's sequence, the operation sees all publishes that were submitted before it.
struct HoldOperation: Sendable {
    struct Member: Sendable {
        let key: CacheKey
        let url: String
    }

    let holder: String
    /// The entries that the holder has held, as far as is known.
    let members: [Member]

    func run(_ context: WriteContext) throws -> ResumedGeneration {
        if let known = try context.index.holder(named: holder) {
            let keys = try context.index.heldEntries(of: known.id).keys
            return ResumedGeneration(number: known.generation, keys: Set(keys))
        }
        Processor.share()
        var entries: [String: Int64] = [:]
        for member in members {
            Processor.offer()
            try context.flushHits(only: member.key.text)
            let kind: Entry.Kind = member.key.form == .page ? .page : .download
            guard let row = try context.index.row(forKey: member.key.text), row.entry.kind == kind,
                row.entry.url == member.url
            else { continue }
            entries[member.key.text] = row.id
        }
        guard !entries.isEmpty else { return ResumedGeneration(number: 0, keys: []) }
        let id = try context.index.setGeneration(1, ofHolder: holder)
        for entry in entries.values { try context.hold(entry, for: id) }
        return ResumedGeneration(number: 1, keys: Set(entries.keys))
    }
}
