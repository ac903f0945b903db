import DiskCache
import HTTPTypes
import Origin
import Outbox
import Primitives

/// Receives the answer to a request of the outbox. Keeps the head, and the body of a version of the resource as far as
/// the outbox needs it; a complete body also goes into the cache.
///
/// The origin client calls the exchange in sequence, on a thread of the client. `then` is called once, last.
final class OutboxExchange: OriginReceiver {
    struct Answer: Sendable {
        var head: OriginHead
        /// `nil` when the body is longer than the limit, or is no version of the resource.
        var body: [UInt8]?
        /// SHA-256 of the whole body.
        var digest: [UInt8]
        /// The reason why the end of the body has not arrived; `nil`: it has, or the connection ended without a body.
        var failure: OriginError?
        /// Whether the body is complete as far as its framing shows. An empty body that only the end of the connection
        /// ends comes more likely from a server that died than from an empty resource (RFC 9112 §6.3).
        var isWhole: Bool
        /// Whether the answer is to a GET and has a version of the resource.
        var isVersion: Bool
        /// The place in the cache that the body has been written to; `nil`: the answer is not to be stored.
        var reservation: Reservation?
    }

    typealias Completion = @Sendable (Result<Answer, OriginError>) -> Void

    private struct State {
        var head: OriginHead?
        var body: [UInt8]? = []
        var hash = SHA256Stream()
        var reservation: Reservation?
        var isVersion = false
        /// The bytes of a body that is no version.
        var dropped = 0
    }

    /// The rest of the body is of no use, so the transfer ends.
    private struct Enough: Error {}
    /// The most bytes of a useless body, such as an error page, that are read to keep the connection.
    private static let patience = 64 << 10

    private let limit: Int?
    private let metrics: ServiceMetrics
    private let mayStore: @Sendable (OriginHead) -> Bool
    private let then: Completion
    private let state: Locked<State>

    /// - Parameters:
    ///   - limit: the longest body of a version to keep, in bytes; `nil`: the body is no version of the resource.
    ///   - reservation: the place for a version of the resource, reserved before the request begins, so that a later
    ///     purge applies to the answer; `nil`: the answer is only an answer.
    ///   - mayStore: whether other callers may read the answer.
    init(
        limit: Int?, reservation: Reservation?, metrics: ServiceMetrics,
        mayStore: @escaping @Sendable (OriginHead) -> Bool = { _ in false }, then: @escaping Completion
    ) {
        self.limit = limit
        self.metrics = metrics
        self.mayStore = mayStore
        self.then = then
        state = Locked(State(reservation: reservation))
    }

    func originDidAnswer(_ head: OriginHead) throws {
        let isVersion = limit != nil && ReadMeaning(status: head.status) == .present
        let isStored = isVersion && mayStore(head)
        let (kept, dropped) = state.withLock { state in
            (state.head, state.isVersion) = (head, isVersion)
            let reservation = state.reservation
            if !isStored { state.reservation = nil }
            return isStored ? (reservation, nil) : (nil, reservation)
        }
        dropped?.abandon()
        // A body that has no room in the cache is an answer all the same.
        if let kept, let length = head.declaredLength, (try? kept.expect(length: length)) == nil { drop(kept) }
    }

    func originDidSend(_ bytes: UnsafeRawBufferPointer) throws {
        metrics.receivedBytes.increment(by: bytes.count)
        let (reservation, isEnough) = state.withLock { state -> (Reservation?, Bool) in
            guard state.isVersion, let limit else {
                state.dropped += bytes.count
                return (nil, state.dropped > Self.patience)
            }
            state.hash.update(bytes)
            if let count = state.body?.count {
                if count + bytes.count <= limit { state.body?.append(contentsOf: bytes) } else { state.body = nil }
            }
            return (state.reservation, false)
        }
        if isEnough { throw Enough() }
        if let reservation, (try? reservation.receive(bytes)) == nil { drop(reservation) }
    }

    private func drop(_ reservation: Reservation) {
        state.withLock { $0.reservation = nil }
        reservation.abandon()
    }

    func originDidFinish(_ result: Result<OriginSummary, OriginError>) {
        let (head, reservation, isVersion) = state.withLock { state in
            (state.head, state.reservation.take(), state.isVersion)
        }
        guard let head else {
            reservation?.abandon()
            if case .failure(let error) = result { then(.failure(error)) }
            return
        }
        let (failure, isWhole): (OriginError?, Bool) =
            switch result {
            case .failure(let error): (error, false)
            case .success(let summary): (nil, summary.byteCount > 0 || summary.framing.isFramed)
            }
        if !isWhole { reservation?.abandon() }
        // The head of an answer that breaks off still tells the fate of a request, but a body must be whole.
        let (body, digest) = state.withLock { state in (isVersion ? state.body : nil, state.hash.digest()) }
        then(
            .success(
                Answer(
                    head: head, body: isWhole ? body : nil, digest: digest, failure: failure, isWhole: isWhole,
                    isVersion: isVersion, reservation: isWhole ? reservation : nil)))
    }
}
