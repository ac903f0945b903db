// Invariants:
// - One transaction replaces the entries of all members, so a kill leaves the old generation or the new one whole.
// - From before the commit until after it, the keys of the changed members are neither in the memory tier nor in the
//   slot table. So readers find them in the index, and each reader sees one generation at every instant.
// - A staged body without another use moves: its row as a resource goes in the same transaction. A kill between the
//   move and the commit leaves a resource without a file. The next start drops it, because no page uses its capture.
// - A purge that marks a member, and a change of its entry's metadata, are later than the member's fetch, so they
//   prevail over its body and its metadata, as they do over an ordinary download.

import Primitives

/// Makes the members the next generation of a holder.
struct SwitchOperation: Sendable {
    let holder: String
    /// Of the stage.
    let capture: Int64
    let members: [GenerationMember]
    /// Whether the stage ends with the switch. Otherwise it keeps all bodies, and the members get copies, because
    /// other members can have the same bodies, and their answers may still be under way.
    let ends: Bool

    /// Throws ``DiskCacheError/noSpace``, without any change, when the members do not fit beside other exempt entries.
    func run(_ context: WriteContext) throws -> GenerationSwitch {
        guard context.parts.runningCaptures.contains(capture) else { throw DiskCacheError.reservationEnded }
        let old = try context.index.holder(named: holder)
        let generation = (old?.generation ?? 0) + 1
        let id = try context.index.setGeneration(generation, ofHolder: holder)
        var held = try old.map { try context.index.heldEntries(of: $0.id) } ?? [:]
        let exemptBytes = context.totals.pinnedBytes
        context.conceal(members.compactMap { if case .kept(nil) = $0.body { nil } else { $0.key.text } })

        var (lost, outdated): ([String: GenerationSwitch.Loss], [String: GenerationSwitch.Loss]) = ([:], [:])
        var count = 0
        var seen: Set<ExactText> = []
        // Several members may have the same body. All but the last one of the last switch get a copy.
        var users: [[UInt8]: Int] = [:]
        for case .staged(let digest, _) in members.map(\.body) { users[digest, default: 0] += 1 }
        Processor.share()
        for member in members where seen.insert(ExactText(member.key.text)).inserted {
            Processor.offer()
            let known = held.removeValue(forKey: member.key.text)
            if case .kept(nil) = member.body, known != nil {
                count += 1
                continue
            }
            var isLastUser = ends
            if case .staged(let digest, _) = member.body {
                users[digest, default: 1] -= 1
                isLastUser = ends && users[digest] == 0
            }
            switch try entry(of: member, isLastUser: isLastUser, context) {
            case .failure(let loss):
                guard known != nil, loss.keepsOldCopy else {
                    lost[member.key.text] = loss
                    if let known { try context.release(known.id, from: id) }
                    continue
                }
                outdated[member.key.text] = loss
                count += 1
            case .success(let entry):
                count += 1
                if known?.id != entry { try context.hold(entry, for: id) }
            }
        }
        for former in held.values { try context.release(former.id, from: id) }
        // In a cache over its limit, a switch that needs no further room must not fail.
        guard context.totals.pinnedBytes <= exemptBytes || context.hasRoomForExempt else {
            throw DiskCacheError.noSpace
        }
        if ends {
            context.journal.onCommit { [captures = context.parts.runningCaptures, capture] in
                captures.end(capture)
                captures.noteDropped()
            }
        }
        context.reveal()
        return GenerationSwitch(generation: generation, held: count, lost: lost, outdated: outdated)
    }

    /// Returns the id of the member's entry.
    private func entry(
        of member: GenerationMember, isLastUser: Bool, _ context: WriteContext
    ) throws -> Result<Int64, GenerationSwitch.Loss> {
        guard let store = member.pending.store(in: context.parts.pendingStores.members) else {
            throw DiskCacheError.reservationEnded
        }
        try context.flushHits(only: member.key.text)
        let row = try context.index.row(forKey: member.key.text)
        if let row, row.entry.kind != member.kind || row.entry.url != member.url {
            return .failure(.occupied)
        }
        let isPurged = store.purged.isSet
        switch member.body {
        case .kept(let refresh):
            guard let row else { return .failure(isPurged ? .removed : .evicted) }
            // A newer body needs no refresh.
            guard let refresh, !isPurged, row.entry.version == member.replacing else { return .success(row.id) }
            let entry = store.refreshed(row.entry, by: refresh.withoutTags, now: context.now)
            guard entry.tags.count <= Entry.tagLimit else { return .failure(.invalid) }
            _ = try context.change(row, to: entry)
            return .success(row.id)
        case .staged(let digest, let metadata):
            // An entry that was stored after the purge is newer than the staged body.
            if isPurged {
                guard let row else { return .failure(.removed) }
                return .success(row.id)
            }
            if let row, row.entry.version != member.replacing, isAsNew(row.entry, as: metadata) {
                return .success(row.id)
            }
            let staged = StagedEntry(digest: digest, metadata: metadata.withoutTags, stage: isLastUser ? capture : nil)
            return try context.adopt(staged, as: member, store, replacing: row)
        }
    }

    private func isAsNew(_ entry: Entry, as staged: EntryMetadata) -> Bool {
        guard let date = entry.downloadStartDate, let start = staged.downloadStartDate else { return false }
        return date >= start
    }
}

extension EntryMetadata {
    /// For a member: ``GenerationMember/addTags()`` has added the tags to the pending store.
    fileprivate var withoutTags: EntryMetadata {
        var metadata = self
        metadata.tags = nil
        return metadata
    }
}
