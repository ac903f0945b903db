import Primitives

/// Stores a body that a capture uses. A body that the cache holds already is not stored again, unless its file is
/// missing: a kill within a switch to a generation leaves such rows until their capture is removed.
struct ResourceOperation: Sendable {
    var capture: Int64
    var body: SealedBody

    /// Returns `nil`, without any change, when the pinned entries leave no room for the body.
    func run(_ context: WriteContext) throws -> PublishOutcome? {
        guard context.parts.runningCaptures.contains(capture) else { throw DiskCacheError.reservationEnded }
        let key = CacheKey.resource(digest: body.digest)
        let held = try context.index.row(forKey: key.text)
        // Before captures existed, a caller could use the text as a key of its own.
        if let held, held.entry.kind != .resource { try context.remove(held) }
        let resource = held.flatMap { $0.entry.kind == .resource ? $0 : nil }
        if let resource, context.hasFile(resource) {
            try context.index.addUse(of: resource.id, by: capture)
            return .stored(resource.entry)
        }
        let version = context.totals.nextSequence()
        let id = resource?.id ?? version
        var file: (path: String, identity: FileIdentity)?
        if case .file(let open) = body.stored {
            file = try context.place(open, id: id, key: key, url: nil, replacing: resource)
        }
        let parts = context.parts
        var record = Entry.Record(key: key.text, kind: .resource, version: version, at: context.now)
        record.namespace = parts.configuration.namespace
        record.contentLength = body.length
        record.digest = body.digest
        record.isJSON = body.isJSON
        record.pinned = resource?.entry.pinned ?? false
        record.localPath = file.map { parts.bodies.absolute($0.path) }
        let entry = Entry(
            record, ttl: .milliseconds(EntryRow.resourceExpiry.milliseconds), expiryDate: EntryRow.resourceExpiry,
            hits: 0,
            lastAccessDate: parts.hits.clock.now())
        var slot: Slot?
        if case .bytes(let bytes) = body.stored { slot = try context.keep(bytes, of: entry) }
        let cost = EntryRow.cost(of: entry, in: slot)
        guard context.canKeep(cost, replacing: resource) else { throw DiskCacheError.noSpace }
        try context.put(
            entry, cost: cost, path: file?.path, slot: slot, identity: file?.identity, replacing: resource)
        context.invalidate(key.text)
        try context.index.addUse(of: id, by: capture)
        return .stored(entry)
    }
}

extension WriteContext {
    /// Whether the file of a body in a file has the right length. The content is not checked. `true` for a slot.
    func hasFile(_ row: EntryRow) -> Bool {
        guard let path = row.path else { return true }
        let status = FileSystem.status(of: parts.bodies.absolute(path))
        return status?.isRegular == true && status?.identity.size == row.entry.contentLength
    }
}
