import Primitives

/// Makes a received body an entry. Runs on the writer's thread, inside a transaction.
struct StoreOperation: Sendable {
    var key: CacheKey
    var kind: Entry.Kind
    var url: String?
    var number: Int
    var body: SealedBody
    var metadata: EntryMetadata
    var condition: (@Sendable (Entry?) -> Bool)?

    /// Returns `nil`, without any change, when the pinned entries leave no room for the body.
    func run(_ context: WriteContext) throws -> PublishOutcome? {
        guard let store = context.parts.pendingStores.store(number) else { throw DiskCacheError.reservationEnded }
        // Most responses are the first of their URL. They replace no entry, and no variant makes room for them.
        let isFirst = try key.form == .response && !context.index.hasVariants(ofMD5: key.md5Hex)
        let old = try isFirst ? nil : context.index.row(forKey: key.text)
        if let condition, !condition(old?.entry) { throw DiskCacheError.conditionFailed }
        let isPurged = store.purged.isSet
        guard isPurged || keepsRoom(leastCost, replacing: old, context) else { return nil }
        if try isPurged || !(isFirst || hasRoom(replacing: old?.entry, context)) {
            // An entry that is not kept takes over no tags and no pinning from the entry under its key.
            let entry = entry(version: 0, path: nil, tags: store.tags, replacing: nil, context)
            return .notKept(entry, body: body.stored)
        }

        let version = context.totals.nextSequence()
        let id = old?.id ?? version
        var file: (path: String, identity: FileIdentity)?
        if case .file(let open, let part) = body.content {
            file = try context.place(open, part: part, id: id, key: key, url: url, replacing: old)
        } else if let path = old?.path {
            try context.setAside(path, id: id)
        }
        let entry = entry(version: version, path: file?.path, tags: store.tags, replacing: old?.entry, context)
        try context.checkTags(of: entry)
        var slot: Slot?
        if case .bytes(let bytes) = body.content { slot = try context.keep(bytes, of: entry) }
        if let slot = old?.slot { context.free(slot) }

        let cost = EntryRow.cost(of: entry, in: slot)
        // The cost now includes the texts, so it may exceed the room.
        guard keepsRoom(cost, replacing: old, context) else { throw DiskCacheError.noSpace }
        try context.put(entry, cost: cost, path: file?.path, slot: slot, identity: file?.identity, replacing: old)
        context.invalidate(key.text)
        context.tell(.stored, entry)
        return .stored(entry)
    }

    /// A pinned entry may always stay; for others see ``WriteContext/canKeep(_:replacing:)``.
    private func keepsRoom(_ cost: Int64, replacing old: EntryRow?, _ context: WriteContext) -> Bool {
        isPinned(replacing: old?.entry) || context.canKeep(cost, replacing: old)
    }

    /// Whether the body is JSON in the declared charset.
    private var isJSON: Bool {
        body.isJSON && JSONCharset(contentType: metadata.contentType).fault(isASCII: body.isASCIIJSON) == nil
    }

    private func isPinned(replacing old: Entry?) -> Bool { metadata.pinned ?? old?.pinned ?? false }

    /// The cost without the texts.
    private var leastCost: Int64 {
        var isFile = false
        if case .file = body.content { isFile = true }
        return EntryRow.cost(bodyLength: body.length, isFile: isFile, url: url)
    }

    /// Makes room among the responses to the same URL. Always `true` for other kinds.
    private func hasRoom(replacing old: Entry?, _ context: WriteContext) throws -> Bool {
        guard key.form == .response else { return true }
        let length = metadata.fields?.utf8.count ?? 0
        guard try context.makeRoomForFields(of: key, length: length, replacing: old) else { return false }
        return try old != nil || context.makeRoomForVariant(of: key)
    }

    private func entry(
        version: Int64, path: String?, tags: Set<ExactText>, replacing old: Entry?, _ context: WriteContext
    ) -> Entry {
        let parts = context.parts
        let record = Entry.Record(
            key: key.text, namespace: parts.configuration.namespace, kind: kind, url: url,
            host: url.map { ResponseURL.host(of: $0) }, params: metadata.params, status: metadata.status,
            contentType: metadata.contentType, contentLength: body.length, etag: metadata.etag,
            lastModified: metadata.lastModified, digest: body.digest, isJSON: isJSON,
            downloadStartDate: metadata.downloadStartDate, downloadEndDate: metadata.downloadEndDate,
            createdDate: context.now, localPath: path.map(parts.bodies.absolute),
            tags: TagUnion.tags(stated: metadata.tags, held: old, dropping: metadata.droppedTags, adding: tags),
            pinned: isPinned(replacing: old), version: version, staleAllowance: metadata.staleAllowance,
            fields: metadata.fields)
        let ttl = max(metadata.ttl, .zero)
        return Entry(
            record, ttl: ttl, expiryDate: metadata.expiryDate ?? context.now + ttl, hits: 0,
            lastAccessDate: parts.hits.clock.now())
    }
}

/// Makes an entry fresh again after the origin confirmed its body. Runs on the writer's thread, inside a transaction.
struct RefreshOperation: Sendable {
    var entry: Entry
    var number: Int
    var refresh: EntryRefresh

    func run(_ context: WriteContext) throws -> PublishOutcome {
        guard let store = context.parts.pendingStores.store(number) else { throw DiskCacheError.reservationEnded }
        if store.purged.isSet { return .notKept(refreshed(entry, tags: store.tags, now: context.now), body: nil) }
        try context.flushHits(only: entry.key)
        guard let row = try context.index.row(forKey: entry.key), row.entry.version == entry.version else {
            throw DiskCacheError.versionChanged
        }
        let entry = refreshed(row.entry, tags: store.tags, now: context.now)
        if let key = CacheKey(entry.key), key.form == .response {
            _ = try context.makeRoomForFields(of: key, length: entry.fieldsLength, replacing: row.entry)
        }
        return .stored(try context.change(row, to: entry))
    }

    private func refreshed(_ old: Entry, tags: Set<ExactText>, now: Timestamp) -> Entry {
        var record = old.record
        record.etag = refresh.etag ?? record.etag
        record.lastModified = refresh.lastModified ?? record.lastModified
        record.contentType = refresh.contentType ?? record.contentType
        record.downloadStartDate = refresh.downloadStartDate ?? record.downloadStartDate
        record.downloadEndDate = refresh.downloadEndDate ?? record.downloadEndDate
        record.tags = TagUnion.tags(stated: refresh.tags, held: old, dropping: refresh.droppedTags, adding: tags)
        record.pinned = refresh.pinned ?? record.pinned
        record.staleAllowance = refresh.staleAllowance ?? record.staleAllowance
        record.fields = refresh.fields ?? record.fields
        let ttl = max(refresh.ttl, .zero)
        return Entry(
            record, ttl: ttl, expiryDate: refresh.expiryDate ?? now + ttl, hits: old.hits,
            lastAccessDate: old.lastAccessDate)
    }
}
