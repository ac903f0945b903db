import Primitives

struct StoreOperation: Sendable {
    var key: CacheKey
    var kind: Entry.Kind
    var url: String?
    var number: Int
    var body: SealedBody
    var metadata: EntryMetadata
    var condition: (@Sendable (Entry?) -> Bool)?
    /// For a page: the capture that it takes over, and the most captures that it keeps.
    var capture: (number: Int64, limit: Int)?

    /// Returns `nil`, without any change, when the pinned entries leave no room for the body.
    func run(_ context: WriteContext) throws -> PublishOutcome? {
        guard let store = context.parts.pendingStores.store(number) else { throw DiskCacheError.reservationEnded }
        if let capture, !context.parts.runningCaptures.contains(capture.number) {
            throw DiskCacheError.reservationEnded
        }
        // Most responses are the first of their URL. They replace no entry, and need no room among other variants.
        let isFirst = try key.form == .response && !context.index.has(.variant, ofMD5: key.md5Hex)
        let old = try isFirst ? nil : context.index.row(forKey: key.text)
        if let condition, !condition(old?.entry) { throw DiskCacheError.conditionFailed }
        let isPurged = store.purged.isSet
        let isPinned = store.isPinned(metadata, replacing: old?.entry) || old?.entry.held == true
        // The lowest cost: of the texts it includes only the URL. A pinned entry always stays, so it needs no check.
        let leastCost = EntryRow.cost(bodyLength: body.length, isFile: body.isFile, url: url)
        guard isPurged || isPinned || context.canKeep(leastCost, replacing: old) else { return nil }
        if try isPurged || !(isFirst || hasRoom(replacing: old?.entry, context)) {
            // An entry that is not kept takes over no tags and no pinning from the entry under its key.
            let entry = entry(version: 0, path: nil, store, replacing: nil, context)
            return .notKept(entry, body: body.stored)
        }

        let version = context.totals.nextSequence()
        let id = old?.id ?? version
        var file: (path: String, identity: FileIdentity)?
        if case .file(let open) = body.stored {
            file = try context.place(open, id: id, key: key, url: url, replacing: old)
        } else if let path = old?.path {
            try context.setAside(path, id: id)
        }
        let entry = entry(version: version, path: file?.path, store, replacing: old?.entry, context)
        try context.checkTags(of: entry)
        var slot: Slot?
        if case .bytes(let bytes) = body.stored { slot = try context.keep(bytes, of: entry) }
        if let slot = old?.slot { context.free(slot) }

        let cost = EntryRow.cost(of: entry, in: slot)
        // The cost now includes all texts, so it may exceed the room.
        guard isPinned || context.canKeep(cost, replacing: old) else { throw DiskCacheError.noSpace }
        try context.put(entry, cost: cost, path: file?.path, slot: slot, identity: file?.identity, replacing: old)
        context.invalidate(key.text)
        // A caller's own body is newer than the bodies of all fetches that are under way, so none may replace it.
        if kind == .json || kind == .data {
            _ = context.parts.pendingStores.purge([PurgeScope(filter: EntryFilter(key: key.text), tags: nil)])
        }
        if let capture {
            try context.adopt(capture.number, byPage: id, keeping: capture.limit)
            if isPinned || old?.entry.isExempt == true { try context.pinResources(ofPage: id) }
        }
        context.tell(.stored, entry)
        return .stored(entry)
    }

    private var isJSON: Bool {
        body.isJSON && JSONCharset(contentType: metadata.contentType).fault(isASCII: body.isASCIIJSON) == nil
    }

    /// Makes room among the responses to the same URL. Always `true` for other kinds.
    private func hasRoom(replacing old: Entry?, _ context: WriteContext) throws -> Bool {
        guard key.form == .response else { return true }
        let length = metadata.fields?.utf8.count ?? 0
        guard try context.makeRoomForFields(of: key, length: length, replacing: old) else { return false }
        return try old != nil || context.makeRoomForVariant(of: key)
    }

    private func entry(
        version: Int64, path: String?, _ store: PendingStore, replacing old: Entry?, _ context: WriteContext
    ) -> Entry {
        // A `download` entry keeps the longest stale allowance of all its callers.
        let allowance = kind == .download && old?.kind == .download ? old?.staleAllowance ?? .zero : .zero
        let parts = context.parts
        var record = Entry.Record(
            key: key.text, namespace: parts.configuration.namespace, kind: kind, url: url,
            host: url.map { ResponseURL.host(of: $0) }, params: metadata.params, status: metadata.status,
            contentType: metadata.contentType, contentLength: body.length, etag: metadata.etag,
            lastModified: metadata.lastModified, digest: body.digest, isJSON: isJSON,
            downloadStartDate: metadata.downloadStartDate, downloadEndDate: metadata.downloadEndDate,
            createdDate: context.now, localPath: path.map(parts.bodies.absolute),
            tags: [], pinned: false, version: version,
            staleAllowance: max(metadata.staleAllowance ?? .zero, allowance), fields: metadata.fields)
        record.holders = old?.holders ?? 0
        return store.entry(
            record, metadata, replacing: old, now: context.now, hits: 0, lastAccessDate: parts.hits.clock.now())
    }
}

struct RefreshOperation: Sendable {
    var entry: Entry
    var number: Int
    var refresh: EntryMetadata

    func run(_ context: WriteContext) throws -> PublishOutcome {
        guard let store = context.parts.pendingStores.store(number) else { throw DiskCacheError.reservationEnded }
        if store.purged.isSet { return .notKept(store.refreshed(entry, by: refresh, now: context.now), body: nil) }
        try context.flushHits(only: entry.key)
        guard let row = try context.index.row(forKey: entry.key), row.entry.version == entry.version else {
            throw DiskCacheError.versionChanged
        }
        let entry = store.refreshed(row.entry, by: refresh, now: context.now)
        if let key = CacheKey(entry.key), key.form == .response {
            _ = try context.makeRoomForFields(of: key, length: entry.fieldsLength, replacing: row.entry)
        }
        return .stored(try context.change(row, to: entry))
    }
}

package enum PublishOutcome: Sendable {
    case stored(Entry)
    /// Only the callers that waited get the entry, because a purge matched it while its body was being received, or the
    /// pinned responses to the URL leave no place (``Entry/variantLimit``) or no room for the fields
    /// (``Entry/variantFieldsLimit``). `body` is `nil` after a refresh.
    case notKept(Entry, body: StoredBody?)

    package var entry: Entry {
        switch self {
        case .stored(let entry), .notKept(let entry, _): entry
        }
    }
}
