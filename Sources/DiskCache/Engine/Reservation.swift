import Primitives

/// A body that is being received and will become an entry, when it is published. Dropping the last reference abandons
/// it. Room on disk is reserved as bytes arrive, so a body that does not fit fails early. Completions run on the
/// writer's or the caller's thread, and must not wait. One thread at a time may deliver bytes.
package final class Reservation: Sendable {
    private enum Phase: Sendable {
        case idle(IncomingBody)
        case receiving
        case ended
    }

    private struct State: Sendable {
        var key: CacheKey
        var phase: Phase
        var promise = ByteBudget.Promise()
        var length: Int64 = 0
        /// The announced length. Room for bytes beyond it is reserved as for a body of unknown length.
        var announced: Int64 = 0
        /// The sequence number at the first lack of room; see ``WriteContext/makeRoom(forUnknownLength:beside:upTo:)``.
        var lastTurn: Int64?

        mutating func takePromise() -> ByteBudget.Promise { exchange(&promise, with: ByteBudget.Promise()) }
    }

    package let body: GrowingBody
    /// The store as it was when the reservation began. ``PendingStores`` has the key and tags that were decided later.
    private let store: PendingStore
    /// `nil`: the new entry is pinned if the replaced entry is.
    private let pinned: Bool?
    /// For a resource, and for the body of a page.
    private let capture: Int64?
    private let number: Int
    private let parts: CacheParts
    private let writer: Writer
    private let state: Locked<State>

    init(_ store: PendingStore, pinned: Bool?, capture: Int64? = nil, parts: CacheParts, writer: Writer) {
        self.pinned = pinned
        self.capture = capture
        self.store = store
        self.parts = parts
        self.writer = writer
        number = parts.pendingStores.begin(store)
        let body = IncomingBody(in: parts.bodies, memoryLimit: parts.inlineLimit)
        self.body = body.growing
        state = Locked(State(key: store.key, phase: .idle(body)))
    }

    deinit { abandon() }

    package var key: CacheKey { state.withLock { $0.key } }
    package var receivedBytes: Int64 { state.withLock { $0.length } }
    /// Whether a purge has matched this reservation, so that publishing keeps no entry. Never true for a body that a
    /// caller stores, because such a body counts as new when published. Never changes after the reservation has ended.
    package var isPurged: Bool { store.purged.isSet }

    /// The number of the store in ``PendingStores``; `nil` when the reservation belongs to another cache.
    func number(in parts: CacheParts) -> Int? { parts === self.parts ? number : nil }

    /// Decides the variant of a response before it is published; see ``DiskCache/reserve(responseTo:tags:)``.
    package func decide(_ key: CacheKey, tags: [String] = []) {
        state.withLock { $0.key = key }
        parts.pendingStores.decide(key, tags: tags, of: number)
    }

    /// Adds tags to the entry. A body from an origin counts as purged if a purge since the reservation began named one
    /// of them. The tags and `pinned` prevail over earlier changes by callers since the reservation began.
    package func addTags(_ tags: [String], pinned: Bool? = nil) {
        if !tags.isEmpty || pinned != nil { parts.pendingStores.add(tags, pinned: pinned, to: number) }
    }

    /// Announces the length, so that a body that does not fit fails before it arrives. Bytes beyond `length`, and all
    /// bytes of a body without an announced length, get only free room and a part of the share (see ``ByteBudget``).
    /// Entries with hits are not evicted for such bytes.
    package func expect(length: Int64) throws(DiskCacheError) {
        try withBody { body throws(DiskCacheError) in
            // Reserves no room yet, because an announced length alone must not evict entries.
            guard length <= parts.configuration.entryLimit else {
                throw .entryTooLarge(limit: parts.configuration.entryLimit)
            }
            let budget = parts.budget
            let isFile = body.isFile || length > parts.inlineLimit
            let cost = EntryRow.cost(bodyLength: length, isFile: isFile, url: store.url)
            if !budget.couldHold(cost, asPinned: false) {
                // Reads the index only when the body would have room if it were pinned.
                guard budget.couldHold(cost, asPinned: true), try willBeExempt() else { throw .noSpace }
            }
            try body.expect(length: length)
            state.withLock { $0.announced = length }
        }
    }

    /// Takes the next bytes. Waits for the writer when entries must be evicted first, which is rare because the cache
    /// keeps some room free. So never call this method, or
    /// ``publish(_:expectedLength:keepingCaptures:condition:completion:)``, from a completion of the cache. After an
    /// error, such as ``DiskCacheError/noSpace``, abandon the reservation.
    package func receive(_ bytes: UnsafeRawBufferPointer) throws(DiskCacheError) {
        try withBody { body throws(DiskCacheError) in
            let length = body.length + Int64(bytes.count)
            let isKnown = length <= state.withLock { $0.announced }
            try reserve(forLength: length, ahead: body.length, isKnown: isKnown, body)
            try body.append(bytes)
        }
    }

    /// Takes the next bytes, as the other method of this name does.
    package func receive(_ bytes: [UInt8]) throws(DiskCacheError) {
        let received = bytes.withUnsafeBytes { bytes in
            Result { () throws(DiskCacheError) in try receive(bytes) }
        }
        try received.get()
    }

    /// Publishes the received body in place of the entry of the same key. Another length than `expectedLength` is a
    /// ``DiskCacheError/lengthMismatch(expected:received:)``. `condition` gets the replaced entry at the instant of the
    /// replacement, and must not wait; `false` ends with ``DiskCacheError/conditionFailed``. A page keeps its newest
    /// captures, at least one and at most `captureLimit`. A resource ignores the metadata and the condition.
    package func publish(
        _ metadata: EntryMetadata, expectedLength: Int64? = nil, keepingCaptures captureLimit: Int = 1,
        condition: (@Sendable (Entry?) -> Bool)? = nil, completion: @escaping Completion<PublishOutcome>
    ) {
        addTags(metadata.tags ?? [])
        let body: SealedBody
        do {
            body = try seal(expectedLength: expectedLength)
        } catch {
            abandon()
            return completion(.failure(error))
        }
        let run: @Sendable (WriteContext) throws -> PublishOutcome?
        if store.kind == .resource, let capture {
            run = ResourceOperation(capture: capture, body: body).run
        } else {
            run =
                StoreOperation(
                    key: key, kind: store.kind, url: store.url, number: number, body: body, metadata: metadata,
                    condition: condition, capture: capture.map { ($0, captureLimit) }
                ).run
        }
        let promise = state.withLock { $0.takePromise() }
        writer.submit(bodyBytes: body.slabBytes, run) { [parts, number] result in
            parts.budget.release(promise)
            parts.pendingStores.end(number)
            // The file of a body that was not published is still in `incoming/`.
            body.removePart()
            completion(result.flatMap { outcome in outcome.map { .success($0) } ?? .failure(.noSpace) })
        }
    }

    /// Refreshes the metadata of an entry, because the origin confirmed its body (RFC 9111 §4.3.4). `completion` gets
    /// ``DiskCacheError/versionChanged`` when the entry is gone or has another body by now. After that error the
    /// reservation, which must have received no bytes, continues, and knows the purges and changes since its beginning.
    package func publishUnchanged(
        _ entry: Entry, _ refresh: EntryMetadata, completion: @escaping Completion<PublishOutcome>
    ) {
        addTags(refresh.tags ?? [])
        writer.submit(RefreshOperation(entry: entry, number: number, refresh: refresh).run) { [self] result in
            if case .failure(.versionChanged) = result { parts.pendingStores.reopen(number) } else { abandon() }
            completion(result)
        }
    }

    /// Discards the received bytes, and gives their room back. Has no effect after a publish or an abandon.
    package func abandon() {
        switch state.withLock({ exchange(&$0.phase, with: .ended) }) {
        case .ended: return
        // The receiving thread finds that the reservation has ended, and discards the body.
        case .receiving: break
        case .idle(let body): discard(body)
        }
        parts.pendingStores.end(number)
    }

    private func discard(_ body: IncomingBody) {
        body.discard()
        parts.budget.release(state.withLock { $0.takePromise() })
    }

    // MARK: - Steps

    /// Runs `use` with the body, which no other thread gets until `use` ends. Holds no lock, because `use` may wait.
    private func withBody(_ use: (IncomingBody) throws(DiskCacheError) -> Void) throws(DiskCacheError) {
        guard let body = take(leaving: .receiving) else { throw .reservationEnded }
        defer { giveBack(body) }
        try use(body)
    }

    private func take(leaving phase: Phase = .ended) -> IncomingBody? {
        state.withLock { state in
            guard case .idle(let body) = state.phase else {
                if case .receiving = state.phase { preconditionFailure("two threads use one reservation at once") }
                return nil
            }
            state.phase = phase
            return body
        }
    }

    private func giveBack(_ body: IncomingBody) {
        let hasEnded = state.withLock { state in
            state.length = body.length
            if case .ended = state.phase { return true }
            state.phase = .idle(body)
            return false
        }
        if hasEnded { discard(body) }
    }

    /// Checks the length and the content, reserves the room that the exact cost still needs, and closes the body.
    private func seal(expectedLength: Int64?) throws(DiskCacheError) -> SealedBody {
        var sealed: SealedBody?
        try withBody { body throws(DiskCacheError) in
            if let expectedLength, expectedLength != body.length {
                throw .lengthMismatch(expected: expectedLength, received: body.length)
            }
            try body.check(as: store.kind)
            try reserve(forLength: body.length, ahead: 0, isKnown: true, body)
            sealed = try body.seal()
        }
        guard let sealed, take() != nil else {
            // The reservation was abandoned in between, and the sealed body has no other owner.
            sealed?.removePart()
            throw .reservationEnded
        }
        return sealed
    }

    // MARK: - Room on disk

    private func willBeExempt() throws(DiskCacheError) -> Bool {
        if pinned == true { return true }
        return isExempt(replacing: try parts.reader.row(forKey: key.text)?.entry)
    }

    /// Without an explicit value, the new entry is pinned if the replaced entry is. A held entry stays held.
    private func isExempt(replacing held: Entry?) -> Bool { held?.held == true || (pinned ?? held?.pinned ?? false) }

    /// Reserves the room that a body of `length` bytes lacks; if there is more room, at least min(`ahead`, 1 MiB).
    private func reserve(
        forLength length: Int64, ahead: Int64, isKnown: Bool, _ body: IncomingBody
    ) throws(DiskCacheError) {
        guard length <= parts.configuration.entryLimit else {
            throw .entryTooLarge(limit: parts.configuration.entryLimit)
        }
        let promise = state.withLock { $0.promise }
        let isFile = body.isFile || length > parts.inlineLimit
        let needed = EntryRow.cost(bodyLength: length, isFile: isFile, url: store.url) - promise.bytes
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
        try writer.perform(makesRoom: true) { [self] context in
            try context.makeRoom(for: bytes, asPinned: isExempt(replacing: context.entry(forKey: key.text)))
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
