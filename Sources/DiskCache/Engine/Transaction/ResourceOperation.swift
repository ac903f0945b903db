import Primitives

/// Stores a body that a capture uses. A body that the cache holds already is not stored again.
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
        if let held, held.entry.kind == .resource {
            try context.index.addUse(of: held.id, by: capture)
            return .stored(held.entry)
        }
        let version = context.totals.nextSequence()
        var file: (path: String, identity: FileIdentity)?
        if case .file(let open) = body.stored {
            file = try context.place(open, id: version, key: key, url: nil, replacing: nil)
        }
        let parts = context.parts
        var record = Entry.Record(key: key.text, kind: .resource, version: version, at: context.now)
        record.namespace = parts.configuration.namespace
        record.contentLength = body.length
        record.digest = body.digest
        record.isJSON = body.isJSON
        record.localPath = file.map { parts.bodies.absolute($0.path) }
        let entry = Entry(
            record, ttl: .milliseconds(EntryRow.resourceExpiry.milliseconds), expiryDate: EntryRow.resourceExpiry,
            hits: 0,
            lastAccessDate: parts.hits.clock.now())
        var slot: Slot?
        if case .bytes(let bytes) = body.stored { slot = try context.keep(bytes, of: entry) }
        let cost = EntryRow.cost(of: entry, in: slot)
        guard context.canKeep(cost, replacing: nil) else { throw DiskCacheError.noSpace }
        try context.put(entry, cost: cost, path: file?.path, slot: slot, identity: file?.identity)
        context.invalidate(key.text)
        try context.index.addUse(of: version, by: capture)
        return .stored(entry)
    }
}
