import DiskCache
import HTTPCaching
import HTTPTypes
import Logging
import Origin
import Primitives

/// One run of fetching an entry from its origin.
///
/// Invariants: it ends exactly once, by calling `finish`; its phases only go forward; `state` is touched under its lock
/// and acted upon after. The origin's calls come one after another on one of the origin client's threads, the cache's
/// on its writer's: the lock is for those who look at the progress or cancel.
final class Flight: OriginReceiver, Sendable {
    /// What a flight works with; the same for all.
    struct Tools: Sendable {
        let cache: DiskCache
        let origin: OriginClient
        let clock: any WallClock
        let metrics: ServiceMetrics
        let options: NamespaceOptions
        let events: NamespaceEvents
        let entryLimit: Int64
        /// With the namespace in each line, but for the default one.
        let logger: Logger
    }

    /// How far a flight has come, for those who watch.
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
        /// The tags of all who wanted it so far.
        var tags: Set<String>
        /// The entry whose validators were sent along.
        var held: Entry?
        var head: OriginHead?
        /// When listeners are told how far it is.
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

    /// A flight that has not begun.
    ///
    /// - Parameters:
    ///   - progressed: called now and then while its body comes, if somebody listens.
    ///   - finish: called once, at its end.
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
        state = Locked(State(tags: request.tags))
    }

    /// How much has come.
    var progress: Progress { state.withLock(\.progress) }

    /// The tags of all who wanted it so far, sorted.
    var tags: [String] { state.withLock(\.tags).sorted() }

    /// The time since the flight was made.
    var elapsed: Duration { ContinuousClock.now - start }

    /// Whether nobody may join it any more: a purge has met what it is to bring, which will not be kept, or somebody
    /// has cancelled it.
    var isClosed: Bool {
        let (isCancelled, reservation) = state.withLock { ($0.isCancelled, $0.reservation) }
        return isCancelled || reservation?.isPurged == true
    }

    /// Tags that a caller who joins wants beside the others; whether an entry may have as many. If not, nothing
    /// happens: who asked before gets what it asked for.
    func unite(_ tags: Set<String>) -> Bool {
        tags.isEmpty
            || state.withLock { state in
                let all = state.tags.union(tags)
                guard all.count <= Entry.tagLimit else { return false }
                state.tags = all
                return true
            }
    }

    /// Tells the cache of tags that were united with the others.
    func passOn(_ tags: Set<String>) {
        guard !tags.isEmpty else { return }
        state.withLock(\.reservation)?.addTags(tags.sorted())
    }

    /// Stops it; `false` when the body is complete and being stored, so that there is nothing left to stop.
    func cancel() -> Bool {
        let (isStopped, transfer) = state.withLock { state -> (Bool, OriginTransfer?) in
            guard state.phase == .waiting || state.phase == .receiving else { return (false, nil) }
            state.isCancelled = true
            return (true, state.transfer)
        }
        transfer?.cancel()
        return isStopped
    }

    /// Stops it when it still waits for its turn at the origin.
    func cancelIfWaiting() {
        state.withLock(\.transfer)?.cancelIfWaiting()
    }

    /// Registers the store that is about to happen, so that a purge from now on is noticed.
    func reserve() {
        let reservation = tools.cache.reserve(
            key, kind: .download, url: request.url.string, pinned: request.pinned)
        let tags = state.withLock { state in
            state.reservation = reservation
            return state.tags
        }
        reservation.addTags(tags.sorted())
    }

    /// Asks the origin. Whoever calls has made sure that this is the only flight of its key.
    ///
    /// - Parameter held: an entry past its expiry whose body is whole; its validators go along.
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
        // Such an answer belongs to the client of the connection (RFC 4559 §6), and an entry to every caller.
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
