// Invariants:
// - One transaction replaces the entries of all members, so a kill leaves the old generation or the new one whole.
// - From before the commit until after it, the keys of the changed members are neither in the memory tier nor in the
//   slot table. So readers find them in the index, and each reader sees one generation at every instant.
// - A staged body without another use moves: its row as a resource goes in the same transaction. A kill between the
//   move and the commit leaves a resource without a file. The next start drops it, because no page uses its capture.

import Primitives

/// Makes the members the next generation of a holder.
struct SwitchOperation: Sendable {
    let holder: String
    /// Of the stage.
    let capture: Int64
    let members: [GenerationMember]
    /// Whether the stage ends with the switch. Otherwise it keeps the bodies that no member of this switch has.
    let ends: Bool

    /// Throws ``DiskCacheError/noSpace``, without any change, when the members do not fit beside other exempt entries.
    func run(_ context: WriteContext) throws -> GenerationSwitch {
        guard context.parts.runningCaptures.contains(capture) else { throw DiskCacheError.reservationEnded }
        let old = try context.index.holder(named: holder)
        let generation = (old?.generation ?? 0) + 1
        let id = try context.index.setGeneration(generation, ofHolder: holder)
        var held = try old.map { try context.index.heldEntries(of: $0.id) } ?? [:]
        context.conceal(members.compactMap { if case .kept(nil) = $0.body { nil } else { $0.key.text } })

        var lost: [String: GenerationSwitch.Loss] = [:]
        var count = 0
        var seen: Set<ExactText> = []
        // Several members may have the same body. All but the last one get a copy.
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
            var isLastUser = true
            if case .staged(let digest, _) = member.body {
                users[digest, default: 1] -= 1
                isLastUser = users[digest] == 0
            }
            switch try entry(of: member, isLastUser: isLastUser, context) {
            case .failure(let loss):
                lost[member.key.text] = loss.loss
                guard let known else { continue }
                // A new body that is damaged does not harm the old copy.
                if loss.loss == .damaged { count += 1 } else { try context.release(known.id, from: id) }
            case .success(let entry):
                count += 1
                if known?.id != entry { try context.hold(entry, for: id) }
            }
        }
        for former in held.values { try context.release(former.id, from: id) }
        guard context.hasRoomForExempt else { throw DiskCacheError.noSpace }
        if ends {
            context.journal.onCommit { [captures = context.parts.runningCaptures, capture] in
                captures.end(capture)
                captures.noteDropped()
            }
        }
        context.reveal()
        return GenerationSwitch(generation: generation, held: count, lost: lost)
    }

    private struct Lost: Error {
        var loss: GenerationSwitch.Loss
    }

    /// Returns the id of the member's entry.
    private func entry(
        of member: GenerationMember, isLastUser: Bool, _ context: WriteContext
    ) throws -> Result<Int64, Lost> {
        try context.flushHits(only: member.key.text)
        let row = try context.index.row(forKey: member.key.text)
        if let row, row.entry.kind != .download || row.entry.url != member.url {
            return .failure(Lost(loss: .occupied))
        }
        guard member.replacing == nil || row != nil else { return .failure(Lost(loss: .removed)) }
        switch member.body {
        case .kept(let refresh):
            guard let row else { return .failure(Lost(loss: .removed)) }
            // A newer body needs no refresh.
            guard let refresh, row.entry.version == member.replacing else { return .success(row.id) }
            _ = try context.change(row, to: refreshed(row.entry, refresh, now: context.now))
            return .success(row.id)
        case .staged(let digest, let metadata):
            if let row, row.entry.version != member.replacing, isAsNew(row.entry, as: metadata) {
                return .success(row.id)
            }
            let stage = isLastUser ? capture : nil
            guard let id = try context.adopt(digest, of: stage, as: member, metadata, replacing: row) else {
                return .failure(Lost(loss: .damaged))
            }
            return .success(id)
        }
    }

    private func isAsNew(_ entry: Entry, as staged: EntryMetadata) -> Bool {
        guard let date = entry.downloadStartDate, let start = staged.downloadStartDate else { return false }
        return date >= start
    }

    private func refreshed(_ old: Entry, _ refresh: EntryMetadata, now: Timestamp) -> Entry {
        var record = old.record
        record.refresh(by: refresh)
        record.tags = TagUnion.tags(record.tags, adding: refresh.tags ?? [])
        let ttl = max(refresh.ttl, .zero)
        return Entry(
            record, ttl: ttl, expiryDate: refresh.expiryDate ?? now + ttl, hits: old.hits,
            lastAccessDate: old.lastAccessDate)
    }
}

extension WriteContext {
    /// Holds an entry, if it has not gone.
    func hold(_ id: Int64, for holder: Int64) throws {
        guard let row = try index.row(forID: id) else { return }
        try index.addHold(on: id, by: holder)
        if !row.entry.held { try setHeld(true, row) }
    }

    /// The entry stays, as an ordinary entry if no other holder holds it.
    func release(_ id: Int64, from holder: Int64) throws {
        try index.removeHold(on: id, by: holder)
        guard let row = try index.row(forID: id), row.entry.held, try !index.isHeld(id) else { return }
        try setHeld(false, row)
    }

    private func setHeld(_ held: Bool, _ row: EntryRow) throws {
        var record = row.entry.record
        record.held = held
        let entry = Entry(
            record, ttl: row.entry.ttl, expiryDate: row.entry.expiryDate, hits: row.entry.hits,
            lastAccessDate: row.entry.lastAccessDate)
        _ = try change(row, to: entry)
    }

    /// Removes keys from memory, and keeps them out until ``reveal()`` or an undo.
    fileprivate func conceal(_ keys: [String]) {
        let (memory, slotTable) = (parts.memory, parts.slotTable)
        memory.suspendInsertions()
        slotTable.suspendInsertions()
        journal.onUndo {
            memory.resumeInsertions()
            slotTable.resumeInsertions()
        }
        for key in keys {
            memory.remove(key)
            slotTable.remove(ExactText(key).hashValue)
        }
    }

    /// Call it when all changes of the transaction are registered, because their keys leave memory after the commit.
    fileprivate func reveal() {
        journal.onCommit { [memory = parts.memory, slotTable = parts.slotTable] in
            memory.resumeInsertions()
            slotTable.resumeInsertions()
        }
    }

    /// Turns a staged resource into the entry of a member. `capture`: the stage, which gives its body away; `nil`: the
    /// entry gets a copy. Returns the id of the entry; `nil` for a damaged body.
    fileprivate func adopt(
        _ digest: [UInt8], of capture: Int64?, as member: GenerationMember, _ metadata: EntryMetadata,
        replacing old: EntryRow?
    ) throws -> Int64? {
        guard let resource = try index.row(forKey: CacheKey.resource(digest: digest).text),
            let body = try body(of: resource)
        else { return nil }
        if let capture { try index.removeUse(of: resource.id, by: capture) }
        let isShared = try capture == nil || index.isUsed(resource.id)
        let version = totals.nextSequence()
        let id = old?.id ?? version
        var file: (path: String, identity: FileIdentity)?
        if case .file(let open) = body {
            let source = try isShared ? copy(open) : open
            file = try place(source, id: id, key: member.key, url: member.url, replacing: old)
        } else if let path = old?.path {
            try setAside(path, id: id)
        }
        let entry = entry(of: member, metadata, resource.entry, version: version, path: file?.path, replacing: old)
        try checkTags(of: entry)
        var slot: Slot?
        if case .bytes(let bytes) = body { slot = try keep(bytes, of: entry) }
        if let slot = old?.slot { free(slot) }
        if !isShared { try forget(resource) }
        let cost = EntryRow.cost(of: entry, in: slot)
        try put(entry, cost: cost, path: file?.path, slot: slot, identity: file?.identity, replacing: old)
        invalidate(entry.key)
        tell(.stored, entry)
        return id
    }

    private func entry(
        of member: GenerationMember, _ metadata: EntryMetadata, _ resource: Entry, version: Int64, path: String?,
        replacing old: EntryRow?
    ) -> Entry {
        let old = old?.entry
        var record = Entry.Record(key: member.key.text, kind: .download, version: version, at: now)
        record.namespace = parts.configuration.namespace
        record.url = member.url
        record.host = ResponseURL.host(of: member.url)
        record.params = metadata.params
        record.status = metadata.status
        record.contentType = metadata.contentType
        record.contentLength = resource.contentLength
        record.etag = metadata.etag
        record.lastModified = metadata.lastModified
        record.digest = resource.digest
        record.isJSON =
            resource.isJSON && JSONCharset(contentType: metadata.contentType).fault(isASCII: false) == nil
        record.downloadStartDate = metadata.downloadStartDate
        record.downloadEndDate = metadata.downloadEndDate
        record.localPath = path.map(parts.bodies.absolute)
        record.tags = TagUnion.tags(old?.record.tags ?? [], adding: metadata.tags ?? [])
        record.pinned = old?.pinned ?? false
        record.held = old?.held ?? false
        record.staleAllowance = max(metadata.staleAllowance ?? .zero, old?.staleAllowance ?? .zero)
        record.fields = metadata.fields
        let ttl = max(metadata.ttl, .zero)
        return Entry(
            record, ttl: ttl, expiryDate: metadata.expiryDate ?? now + ttl, hits: 0,
            lastAccessDate: parts.hits.clock.now())
    }

    /// `nil` when the body is missing or damaged.
    private func body(of row: EntryRow) throws(DiskCacheError) -> StoredBody? {
        if let slot = row.slot { return try parts.slab.body(of: row.entry, in: slot).map { .bytes($0) } }
        guard let path = row.path else { return nil }
        let opened: (file: BodyFile, status: FileStatus?)
        do {
            opened = try parts.bodies.open(path, length: row.entry.contentLength)
        } catch  where error.isMissingFile {
            return nil
        }
        return opened.status?.identity == row.identity ? .file(opened.file) : nil
    }

    /// Copies a body to `incoming/`.
    private func copy(_ body: BodyFile) throws -> BodyFile {
        let path = parts.bodies.newPartPath()
        let part = try parts.bodies.createPart(path)
        journal.onUndo { FileSystem.unlink(path) }
        var offset: Int64 = 0
        while offset < body.length {
            let piece = try body.read(offset..<min(offset + 1 << 20, body.length))
            try piece.withUnsafeBytes { bytes throws(DiskCacheError) in try part.write(bytes, path: path) }
            offset += Int64(piece.count)
        }
        return BodyFile(part, length: body.length, path: path)
    }

    /// Removes the row of a resource that has given its body to an entry.
    private func forget(_ resource: EntryRow) throws {
        if let slot = resource.slot { free(slot) }
        try index.delete(resource)
        totals.remove(resource)
        invalidate(resource.entry.key)
    }
}
