import DiskCache
import HTTPCaching
import HTTPTypes
import Logging
import Origin
import Primitives

/// A single run of fetching an entry from its origin.
///
/// Invariants:
/// - A flight ends exactly once, by calling `finish`.
/// - Its phases only go forward, with a single exception: `storing` goes back to `receiving` when a 304 does not
///   confirm the held entry, or the held entry has changed meanwhile. The flight then asks the origin again, without
///   validators.
/// - `state` changes under its lock. Actions follow after the lock is released.
/// - The origin's calls come in sequence, on one thread of the origin client. The cache's calls come on the thread of
///   the cache's writer. The lock exists for callers that look at the progress or cancel.
final class Flight: OriginReceiver, Sendable {
    /// The services of a flight, the same for all flights of a namespace.
    struct Tools: Sendable {
        let cache: DiskCache
        let origin: OriginClient
        let clock: any WallClock
        let metrics: ServiceMetrics
        let options: NamespaceOptions
        let events: NamespaceEvents
        let entryLimit: Int64
        /// Adds the namespace to each line, except for the default namespace.
        let logger: Logger
    }

    /// The progress of a flight, for status requests and listeners.
    struct Progress: Sendable {
        var receivedBytes: Int64 = 0
        var totalBytes: Int64?
    }

    typealias Finish = @Sendable (Flight, Result<DownloadResult, DownloadError>) -> Void

    enum Phase { case waiting, receiving, storing, ended }

    struct State {
        var phase = Phase.waiting
        var progress = Progress()
        var isCancelled = false
        var transfer: OriginTransfer?
        var reservation: Reservation?
        /// The wishes of all callers so far.
        var wishes: EntryWishes
        /// The wishes that went to the cache together with the entry.
        var published = EntryWishes()
        /// The entry whose validators were sent to the origin.
        var held: Entry?
        var head: OriginHead?
        /// The pace of the progress reports to listeners.
        var pace = ReportPace()
    }

    let request: DownloadRequest
    let key: CacheKey
    let startDate: Timestamp
    private let start = ContinuousClock.now
    let tools: Tools
    let progressed: @Sendable (Flight) -> Void
    private let finish: Finish
    let state: Locked<State>

    /// Creates a flight that has not departed.
    ///
    /// - Parameters:
    ///   - progressed: called now and then while the body arrives, if there are listeners.
    ///   - finish: called once, at the end.
    init(
        _ request: DownloadRequest, key: CacheKey, tools: Tools, progressed: @escaping @Sendable (Flight) -> Void,
        finish: @escaping Finish
    ) {
        self.request = request
        self.key = key
        self.tools = tools
        self.progressed = progressed
        self.finish = finish
        startDate = tools.clock.now()
        state = Locked(State(wishes: request.wishes))
    }

    /// The number of bytes that have arrived, and of all bytes.
    var progress: Progress { state.withLock(\.progress) }

    /// The tags of all callers so far, sorted.
    var tags: [String] { state.withLock(\.wishes.tags).sorted() }

    var published: EntryWishes { state.withLock(\.published) }

    /// The time since the flight was created.
    var elapsed: Duration { ContinuousClock.now - start }

    /// Whether no caller may join any more, because the flight was cancelled or a purge matched its future entry. A
    /// purged entry is not kept.
    var isClosed: Bool {
        let (isCancelled, reservation) = state.withLock { ($0.isCancelled, $0.reservation) }
        return isCancelled || reservation?.isPurged == true
    }

    /// Unites the wishes of a joining caller with the wishes of the earlier callers. Returns `false`, without a change,
    /// when an entry may not have that many tags. The earlier callers then still get the tags that they asked for.
    func unite(_ wishes: EntryWishes) -> Bool {
        state.withLock { state in
            guard state.wishes.tags.union(wishes.tags).count <= Entry.tagLimit else { return false }
            state.wishes.formUnion(wishes)
            return true
        }
    }

    /// Passes united tags to the cache.
    func passOn(_ tags: Set<String>) {
        guard !tags.isEmpty else { return }
        state.withLock(\.reservation)?.addTags(tags.sorted())
    }

    /// Cancels the flight. Returns `false` when the body is complete and being stored, or the flight has ended.
    func cancel() -> Bool {
        let (isStopped, transfer) = state.withLock { state -> (Bool, OriginTransfer?) in
            guard state.phase == .waiting || state.phase == .receiving else { return (false, nil) }
            state.isCancelled = true
            return (true, state.transfer)
        }
        transfer?.cancel()
        return isStopped
    }

    /// Cancels the flight while it still waits for its turn at the origin.
    func cancelIfWaiting() {
        state.withLock(\.transfer)?.cancelIfWaiting()
    }

    /// Registers the store that will follow, so that the cache notices a purge from now on.
    ///
    /// Reads the tags in the same step that sets the reservation. So the reservation gets tags that were united before
    /// this step here, and later tags by ``passOn(_:)``.
    func reserve() {
        let reservation = tools.cache.reserve(
            key, kind: .download, url: request.url.string, pinned: request.pinned)
        let tags = state.withLock { state in
            state.reservation = reservation
            return state.wishes.tags
        }
        reservation.addTags(tags.sorted())
    }

    /// Sends the request to the origin. The caller ensures that this is the only flight of its key.
    ///
    /// Looks for a cancellation before the transfer exists and again afterwards, because ``cancel()`` can only cancel
    /// an existing transfer.
    ///
    /// - Parameter held: the held entry, past its expiry and with a whole body. Its validators are sent along. `nil`
    ///   sends no validators.
    func depart(held: Entry?) {
        let validators = held?.validators
        var fields = request.fields
        for field in validators?.conditionalFields ?? [:] { fields.append(field) }
        let isConditional = validators?.isEmpty == false
        let isCancelled = state.withLock { state in
            state.held = isConditional ? held : nil
            state.head = nil
            state.phase = .receiving
            return state.isCancelled
        }
        if isCancelled {
            end(.failure(.cancelled))
            return
        }
        var originRequest = OriginRequest(url: request.url.requestURL)
        originRequest.fields = fields
        originRequest.decodesContent = !request.keepsCodings
        originRequest.sizeLimit = tools.entryLimit
        originRequest.addressPolicy = tools.options.addressPolicy
        let transfer = tools.origin.fetch(originRequest, receiver: self)
        let wasCancelled = state.withLock { state in
            state.transfer = transfer
            return state.isCancelled
        }
        if wasCancelled { transfer.cancel() }
    }

    // MARK: The origin's side

    func originDidAnswer(_ head: OriginHead) throws {
        let (reservation, isConditional) = state.withLock { state in
            state.head = head
            state.progress.totalBytes = head.declaredLength
            return (state.reservation, state.held != nil)
        }
        if head.status == 304, isConditional { return }
        guard (200..<300).contains(head.status), head.status != 206 else {
            throw DownloadError.originStatus(head.status, retryAfter: head.retryAfter(now: tools.clock.now()))
        }
        // Such an answer belongs to the client of the connection (RFC 4559 §6), but an entry is for every caller.
        guard !head.authenticatesConnection else { throw DownloadError.connectionAuthentication }
        if let length = head.declaredLength { try reservation?.expect(length: length) }
    }

    func originDidSend(_ bytes: UnsafeRawBufferPointer) throws {
        let isHeard = tools.events.isHeard
        let (reservation, turn) = state.withLock { state in
            state.progress.receivedBytes += Int64(bytes.count)
            return (state.reservation, isHeard ? state.pace.turn(at: .now) : nil)
        }
        tools.metrics.receivedBytes.increment(by: bytes.count)
        try reservation?.receive(bytes)
        if let turn { report(turn) }
    }

    func originDidFinish(_ result: Result<OriginSummary, OriginError>) {
        let (head, held, isCancelled) = state.withLock { state in
            if !state.isCancelled { state.phase = .storing }
            state.transfer = nil
            return (state.head, state.held, state.isCancelled)
        }
        switch result {
        case _ where isCancelled: end(.failure(.cancelled))
        case .failure(let error): end(.failure(DownloadError(error)))
        case .success(let summary):
            guard let head else {
                end(.failure(.transferFailed(code: 0, words: "the origin sent no answer")))
                return
            }
            if head.status == 304, let held {
                revalidate(held, head: head)
            } else {
                store(head: head, summary: summary)
            }
        }
    }

    func end(_ result: Result<DownloadResult, DownloadError>) {
        let reservation = state.withLock { state -> Reservation?? in
            guard state.phase != .ended else { return nil }
            state.phase = .ended
            defer { state.reservation = nil }
            return .some(state.reservation)
        }
        guard let reservation else { return }
        if case .failure = result { reservation?.abandon() }
        finish(self, result)
    }
}
