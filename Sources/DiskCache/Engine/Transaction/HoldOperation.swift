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
            return ResumedGeneration(number: known.generation, dates: try context.index.heldDates(of: known.id))
        }
        Processor.share()
        var entries: [Int64] = []
        var dates: [String: Timestamp] = [:]
        for member in members {
            Processor.offer()
            try context.flushHits(only: member.key.text)
            let kind: Entry.Kind = member.key.form == .page ? .page : .download
            guard let row = try context.index.row(forKey: member.key.text), row.entry.kind == kind,
                row.entry.url == member.url
            else { continue }
            entries.append(row.id)
            dates[member.key.text] = row.entry.downloadEndDate ?? row.entry.createdDate
        }
        guard !entries.isEmpty else { return ResumedGeneration(number: 0, dates: [:]) }
        let id = try context.index.setGeneration(1, ofHolder: holder)
        for entry in entries { try context.hold(entry, for: id) }
        return ResumedGeneration(number: 1, dates: dates)
    }
}
