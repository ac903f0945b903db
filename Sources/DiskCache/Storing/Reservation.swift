import Primitives

/// A body that is being received, and will become an entry: the one way by which anything gets into the cache.
///
/// Receive the bytes, then publish or abandon. A reservation that goes without either is abandoned. Room on disk is
/// reserved as the bytes come, so a body that does not fit fails before it is complete.
///
/// Bytes come from one thread at a time; everything else may be called on any thread.
public final class Reservation: Sendable {
    enum Phase: Sendable {
        case idle(IncomingBody)
        /// Some thread is receiving.
        case receiving
        case ended
    }

    struct State: Sendable {
        var key: CacheKey
        var phase: Phase
        /// What the byte budget has promised to this body.
        var promise = ByteBudget.Promise()
        var length: Int64 = 0
        /// How many bytes were announced. What comes beyond them is of unknown length.
        var announced: Int64 = 0
        /// See ``Eviction/makeRoom(_:forUnknownLength:beside:upTo:)``; `nil` until room had to be made.
        var lastTurn: Int64?

        /// Takes the promise out, to be released.
        mutating func takePromise() -> ByteBudget.Promise {
            defer { promise = ByteBudget.Promise() }
            return promise
        }
    }

    /// What has come so far, for those who read along.
    public let body: GrowingBody
    private let kind: Entry.Kind
    let url: String?
    /// Whether the entry will be pinned; `nil`: as the one that it replaces.
    let pinned: Bool?
    private let flight: Int
    private let purged: PurgeMark
    let parts: CacheParts
    let writer: Writer
    let state: Locked<State>

    init(_ flight: Flight, pinned: Bool?, parts: CacheParts, writer: Writer) {
        self.pinned = pinned
        kind = flight.kind
        url = flight.url
        purged = flight.purged
        self.parts = parts
        self.writer = writer
        self.flight = parts.flights.begin(flight)
        let body = IncomingBody(in: parts.bodies, memoryLimit: parts.inlineLimit)
        self.body = body.growing
        state = Locked(State(key: flight.key, phase: .idle(body)))
    }

    deinit {
        abandon()
    }

    /// The key of the entry to be.
    public var key: CacheKey { state.withLock { $0.key } }

    /// How many bytes have come.
    public var receivedBytes: Int64 { state.withLock { $0.length } }

    /// Whether a purge has matched meanwhile: what is published will answer who waits for it, and not be kept. Never so
    /// of what a caller stores, which counts from when it is published. It stays as it is once the reservation has
    /// ended.
    public var isPurged: Bool { purged.isSet }

    /// Its number among the flights of the cache with those parts; `nil` when it is another cache's.
    func number(in parts: CacheParts) -> Int? { parts === self.parts ? flight : nil }

    /// Says which variant of its URL a response is, before it is published; see
    /// ``DiskCache/reserve(responseTo:tags:)``.
    ///
    /// - Parameters:
    ///   - key: of the entry to be.
    ///   - tags: that the entry will have beside those that are known; see ``addTags(_:)``.
    public func decide(_ key: CacheKey, tags: [String] = []) {
        state.withLock { $0.key = key }
        parts.flights.decide(key, tags: tags, of: flight)
    }

    /// Adds tags to those that the entry will have. When one of them was purged since the reservation, so is this,
    /// if it comes from an origin.
    public func addTags(_ tags: [String]) {
        if !tags.isEmpty { parts.flights.add(tags, to: flight) }
    }

    /// Says how many bytes will come: a body that does not fit fails before it is sent. Room is reserved as the bytes
    /// come.
    ///
    /// Without this the length is unknown, and so is that of bytes beyond `length`: such a body gets free room and its
    /// share, for which no entry goes that is read, and is refused when that is not enough (see ``ByteBudget``).
    ///
    /// Throws ``DiskCacheError/entryTooLarge(limit:)``, ``DiskCacheError/noSpace`` and
    /// ``DiskCacheError/reservationEnded``.
    public func expect(length: Int64) throws(DiskCacheError) {
        try withBody { body throws(DiskCacheError) in
            // Room is taken as bytes come: a length that was only announced must not drive anybody out.
            guard length <= parts.configuration.entryLimit else {
                throw .entryTooLarge(limit: parts.configuration.entryLimit)
            }
            let budget = parts.budget
            let cost = EntryRow.cost(bodyLength: length, isFile: body.isFile || length > parts.inlineLimit, url: url)
            if !budget.couldHold(cost, asPinned: false) {
                // The index is only asked for who would have room, were it pinned.
                guard budget.couldHold(cost, asPinned: true), try willBePinned() else { throw .noSpace }
            }
            try body.expect(length: length)
            state.withLock { $0.announced = length }
        }
    }

    /// Takes the next bytes. It may wait while older entries make room, which is rare: the cache keeps some. So never
    /// call it, nor ``publish(_:expectedLength:condition:completion:)``, from a completion of the cache.
    ///
    /// Throws ``DiskCacheError/entryTooLarge(limit:)``, ``DiskCacheError/noSpace``,
    /// ``DiskCacheError/fileSystem(operation:path:errno:)`` and ``DiskCacheError/reservationEnded``. After an error
    /// there is nothing left to do but to abandon.
    public func receive(_ bytes: UnsafeRawBufferPointer) throws(DiskCacheError) {
        try withBody { body throws(DiskCacheError) in
            let length = body.length + Int64(bytes.count)
            let isKnown = length <= state.withLock { $0.announced }
            try reserve(forLength: length, ahead: body.length, isKnown: isKnown, body)
            try body.append(bytes)
        }
    }

    /// Takes the next bytes; see ``receive(_:)-(UnsafeRawBufferPointer)``.
    public func receive(_ bytes: [UInt8]) throws(DiskCacheError) {
        try bytes.withBytes { bytes throws(DiskCacheError) in try receive(bytes) }
    }

    /// Publishes what came: makes it an entry, in place of the one of the same key.
    ///
    /// - Parameters:
    ///   - metadata: what is known of the body.
    ///   - expectedLength: how many bytes were declared; `nil` when nobody did.
    ///   - condition: sees the entry that would be replaced, at the instant of replacing it; when it returns `false`
    ///     nothing is published. It must not wait.
    ///   - completion: gets ``DiskCacheError/lengthMismatch(expected:received:)``,
    ///     ``DiskCacheError/emptyBody``, ``DiskCacheError/emptyJSON``, ``DiskCacheError/invalidJSON``,
    ///     ``DiskCacheError/notUTF8(_:)``, ``DiskCacheError/conditionFailed``, ``DiskCacheError/noSpace``,
    ///     ``DiskCacheError/fileSystem(operation:path:errno:)``, ``DiskCacheError/index(code:message:)``,
    ///     ``DiskCacheError/reservationEnded`` or ``DiskCacheError/closed``; or how it ended, once that is durable. It
    ///     runs on the writer's thread, or on the caller's, and must not wait.
    public func publish(
        _ metadata: EntryMetadata, expectedLength: Int64? = nil, condition: (@Sendable (Entry?) -> Bool)? = nil,
        completion: @escaping @Sendable (Result<PublishOutcome, DiskCacheError>) -> Void
    ) {
        addTags(metadata.tags ?? [])
        let body: SealedBody
        do {
            body = try seal(expectedLength: expectedLength)
        } catch {
            abandon()
            return completion(.failure(error))
        }
        let store = StoreOperation(
            key: key, kind: kind, url: url, flight: flight, body: body, metadata: metadata, condition: condition)
        submit(
            bodyBytes: body.indexBytes, { context in try store.run(context) },
            completion: { result in
                // Unless it was published, the file is still where it was received.
                body.removePart()
                completion(result.flatMap { outcome in outcome.map { .success($0) } ?? .failure(.noSpace) })
            })
    }

    /// ``publish(_:expectedLength:condition:completion:)``, and waits for the outcome.
    public func publish(
        _ metadata: EntryMetadata, expectedLength: Int64? = nil, condition: (@Sendable (Entry?) -> Bool)? = nil
    ) async throws(DiskCacheError) -> PublishOutcome {
        try await withCheckedContinuation { continuation in
            publish(metadata, expectedLength: expectedLength, condition: condition) {
                continuation.resume(returning: $0)
            }
        }.get()
    }

    /// Refreshes an entry instead of replacing it: the origin said that its body has not changed (RFC 9111 §4.3.4).
    ///
    /// - Parameters:
    ///   - entry: whose body was confirmed.
    ///   - refresh: what changes.
    ///   - completion: gets ``DiskCacheError/versionChanged`` when the entry is gone or has another body by now, and
    ///     otherwise what ``publish(_:expectedLength:condition:completion:)`` says; ``PublishOutcome/notKept(_:body:)``
    ///     comes without a body. It runs on the writer's thread, or on the caller's, and must not wait.
    public func publishUnchanged(
        _ entry: Entry, _ refresh: EntryRefresh,
        completion: @escaping @Sendable (Result<PublishOutcome, DiskCacheError>) -> Void
    ) {
        guard let body = take() else { return completion(.failure(.reservationEnded)) }
        body.discard()
        addTags(refresh.tags ?? [])
        let operation = RefreshOperation(entry: entry, flight: flight, refresh: refresh)
        submit({ context in try operation.run(context) }, completion: completion)
    }

    /// ``publishUnchanged(_:_:completion:)``, and waits for the outcome.
    public func publishUnchanged(
        _ entry: Entry, _ refresh: EntryRefresh
    ) async throws(DiskCacheError) -> PublishOutcome {
        try await withCheckedContinuation { continuation in
            publishUnchanged(entry, refresh) { continuation.resume(returning: $0) }
        }.get()
    }

    /// Forgets what came, and gives its room back. Does nothing once it was published or abandoned.
    public func abandon() {
        let (body, promise, ends) = state.withLock { state -> (IncomingBody?, ByteBudget.Promise, Bool) in
            switch state.phase {
            case .ended: return (nil, ByteBudget.Promise(), false)
            case .receiving:
                // The thread that receives finds out when it is done, and discards the body.
                state.phase = .ended
                return (nil, ByteBudget.Promise(), true)
            case .idle(let body):
                state.phase = .ended
                return (body, state.takePromise(), true)
            }
        }
        body?.discard()
        parts.budget.release(promise)
        if ends { parts.flights.end(flight) }
    }

    // MARK: - Steps

    /// Hands the body to `use` for this thread alone; not under the lock, for `use` may wait.
    private func withBody(
        _ use: (IncomingBody) throws(DiskCacheError) -> Void
    ) throws(DiskCacheError) {
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
        let promise = state.withLock { state -> ByteBudget.Promise? in
            state.length = body.length
            guard case .ended = state.phase else {
                state.phase = .idle(body)
                return nil
            }
            return state.takePromise()
        }
        guard let promise else { return }
        body.discard()
        parts.budget.release(promise)
    }

    /// Checks the length and the content, reserves what is missing to the exact cost, and closes the body.
    private func seal(expectedLength: Int64?) throws(DiskCacheError) -> SealedBody {
        var sealed: SealedBody?
        try withBody { body throws(DiskCacheError) in
            if let expectedLength, expectedLength != body.length {
                throw .lengthMismatch(expected: expectedLength, received: body.length)
            }
            try body.check(as: kind)
            try reserve(forLength: body.length, ahead: 0, isKnown: true, body)
            sealed = try body.seal()
        }
        guard let sealed, take() != nil else {
            // Abandoned in between: what was sealed has no other owner any more.
            sealed?.removePart()
            throw .reservationEnded
        }
        return sealed
    }

    private func submit<Outcome: Sendable>(
        bodyBytes: Int64 = 0, _ work: @escaping @Sendable (WriteContext) throws -> Outcome,
        completion: @escaping @Sendable (Result<Outcome, DiskCacheError>) -> Void
    ) {
        let (parts, flight) = (parts, flight)
        let promise = state.withLock { $0.takePromise() }
        writer.submit(bodyBytes: bodyBytes, work) { result in
            parts.budget.release(promise)
            parts.flights.end(flight)
            completion(result)
        }
    }
}
