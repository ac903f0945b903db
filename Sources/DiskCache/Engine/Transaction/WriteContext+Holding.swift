import Primitives

/// A body that a stage has stored, on its way into the entry of a member.
struct StagedEntry {
    let digest: [UInt8]
    let metadata: EntryMetadata
    /// The stage, which gives its body away; `nil`: the entry gets a copy.
    let stage: Int64?
}

extension WriteContext {
    /// Holds an entry, if it has not gone.
    func hold(_ id: Int64, for holder: Int64) throws {
        try index.addHold(on: id, by: holder)
        try countHolders(of: id)
    }

    /// The entry stays, as an ordinary entry if no other holder holds it.
    func release(_ id: Int64, from holder: Int64) throws {
        try index.removeHold(on: id, by: holder)
        try countHolders(of: id)
    }

    private func countHolders(of id: Int64) throws {
        guard let row = try index.row(forID: id) else { return try index.removeHolds(of: id) }
        let holders = try index.holderCount(of: id)
        guard row.entry.holders != holders else { return }
        var record = row.entry.record
        record.holders = holders
        let entry = Entry(
            record, ttl: row.entry.ttl, expiryDate: row.entry.expiryDate, hits: row.entry.hits,
            lastAccessDate: row.entry.lastAccessDate)
        _ = try change(row, to: entry)
    }

    /// Removes keys from memory, and keeps them out until ``reveal()`` or an undo.
    func conceal(_ keys: [String]) {
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
    func reveal() {
        journal.onCommit { [memory = parts.memory, slotTable = parts.slotTable] in
            memory.resumeInsertions()
            slotTable.resumeInsertions()
        }
    }

    /// Turns a staged resource into the entry of a member, and returns the id of the entry. Fails before any
    /// change when the body is damaged or the metadata is not valid.
    func adopt(
        _ staged: StagedEntry, as member: GenerationMember, _ store: PendingStore, replacing old: EntryRow?
    ) throws -> Result<Int64, GenerationSwitch.Loss> {
        guard let resource = try index.row(forKey: CacheKey.resource(digest: staged.digest).text),
            let body = try body(of: resource)
        else { return .failure(.damaged) }
        var record = record(of: member, staged.metadata, resource.entry, replacing: old?.entry)
        record.isJSON = try isJSON(resource.entry, body, as: staged.metadata.contentType)
        func finished() -> Entry {
            store.entry(
                record, staged.metadata, replacing: old?.entry, now: now, hits: 0,
                lastAccessDate: parts.hits.clock.now())
        }
        guard finished().tags.count <= Entry.tagLimit else { return .failure(.invalid) }
        if let stage = staged.stage { try index.removeUse(of: resource.id, by: stage) }
        let isShared = try staged.stage == nil || index.isUsed(resource.id)
        record.version = totals.nextSequence()
        let id = old?.id ?? record.version
        var file: (path: String, identity: FileIdentity)?
        if case .file(let open) = body {
            let source = try isShared ? copy(open) : open
            file = try place(source, id: id, key: member.key, url: member.url, replacing: old)
        } else if let path = old?.path {
            try setAside(path, id: id)
        }
        record.localPath = file.map { parts.bodies.absolute($0.path) }
        let entry = finished()
        var slot: Slot?
        if case .bytes(let bytes) = body { slot = try keep(bytes, of: entry) }
        if let slot = old?.slot { free(slot) }
        if !isShared { try forget(resource) }
        let cost = EntryRow.cost(of: entry, in: slot)
        try put(entry, cost: cost, path: file?.path, slot: slot, identity: file?.identity, replacing: old)
        invalidate(entry.key)
        tell(.stored, entry)
        return .success(id)
    }

    private func record(
        of member: GenerationMember, _ metadata: EntryMetadata, _ resource: Entry, replacing old: Entry?
    ) -> Entry.Record {
        var record = Entry.Record(key: member.key.text, kind: .download, version: 0, at: now)
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
        record.downloadStartDate = metadata.downloadStartDate
        record.downloadEndDate = metadata.downloadEndDate
        record.holders = old?.holders ?? 0
        // A `download` entry keeps the longest stale allowance of all its callers.
        record.staleAllowance = max(metadata.staleAllowance ?? .zero, old?.staleAllowance ?? .zero)
        record.fields = metadata.fields
        return record
    }

    /// The content type of the member may declare a charset in which only ASCII has the same bytes as in UTF-8.
    private func isJSON(
        _ resource: Entry, _ body: StoredBody, as contentType: String?
    ) throws(DiskCacheError) -> Bool {
        let charset = JSONCharset(contentType: contentType)
        guard resource.isJSON, charset.fault(isASCII: true) == nil else { return false }
        if charset.fault(isASCII: false) == nil { return true }
        var offset: Int64 = 0
        while offset < body.length {
            let piece = try body.read(offset..<min(offset + 1 << 20, body.length))
            guard piece.withUnsafeBytes({ $0.allSatisfy { $0 < 0x80 } }) else { return false }
            offset += Int64(piece.count)
        }
        return true
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
        if opened.status?.identity == row.identity { return .file(opened.file) }
        // The times of a file change when an undone switch moves the body back.
        guard let status = opened.status, status.isRegular, status.identity.size == row.entry.contentLength,
            try opened.file.digest() == row.entry.digest
        else { return nil }
        return .file(opened.file)
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
