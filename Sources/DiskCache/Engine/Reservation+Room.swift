import Primitives

/// Room on disk for the body: the amount that it needs, and how the reservation gets it.
extension Reservation {
    /// The pinning of the current entry stays unless there is an explicit value.
    func willBePinned() throws(DiskCacheError) -> Bool {
        if let pinned { return pinned }
        return try parts.reader.row(forKey: key.text)?.entry.pinned == true
    }

    /// Reserves room for a body of `length` bytes, beyond the room that is reserved already. `ahead` bytes were
    /// received so far; as much again is reserved in advance, at most 1 MiB.
    func reserve(forLength length: Int64, ahead: Int64, isKnown: Bool, _ body: IncomingBody) throws(DiskCacheError) {
        guard length <= parts.configuration.entryLimit else {
            throw .entryTooLarge(limit: parts.configuration.entryLimit)
        }
        let promise = state.withLock { $0.promise }
        let isFile = body.isFile || length > parts.inlineLimit
        let needed = EntryRow.cost(bodyLength: length, isFile: isFile, url: url) - promise.bytes
        guard needed > 0 else { return }
        // Reserves in larger steps, so that a large body does not reserve room for each of its pieces.
        let step = ahead == 0 ? needed : max(needed, min(ahead, 1 << 20))
        if step > needed, let more = promised(step, beside: promise, isKnown: isKnown) { return add(more) }
        while true {
            if let more = promised(needed, beside: promise, isKnown: isKnown) { return add(more) }
            let hasRoom = isKnown ? try makeRoom(for: needed) : try makeRoom(forUnknownLength: needed, beside: promise)
            guard hasRoom else { throw .noSpace }
        }
    }

    private func promised(_ bytes: Int64, beside promise: ByteBudget.Promise, isKnown: Bool) -> ByteBudget.Promise? {
        isKnown ? parts.budget.reserve(bytes) : parts.budget.reserve(ofUnknownLength: bytes, beside: promise)
    }

    private func makeRoom(for bytes: Int64) throws(DiskCacheError) -> Bool {
        try writer.perform(makesRoom: true) { [pinned, key] context in
            let pinned = try pinned ?? context.entry(forKey: key.text)?.pinned ?? false
            return try context.makeRoom(for: bytes, asPinned: pinned)
        }
    }

    private func makeRoom(
        forUnknownLength bytes: Int64, beside promise: ByteBudget.Promise
    ) throws(DiskCacheError) -> Bool {
        let known = state.withLock { $0.lastTurn }
        let (hasRoom, lastTurn) = try writer.perform(makesRoom: true) { context in
            let lastTurn = known ?? context.totals.sequence
            return (try context.makeRoom(forUnknownLength: bytes, beside: promise, upTo: lastTurn), lastTurn)
        }
        state.withLock { $0.lastTurn = lastTurn }
        return hasRoom
    }

    private func add(_ more: ByteBudget.Promise) {
        state.withLock { state in
            state.promise.bytes += more.bytes
            state.promise.shared += more.shared
        }
    }
}
