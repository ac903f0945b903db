import DiskCache
import Larder
import MicroHTTPD
import Primitives

/// Stores a body that a caller sends. The body streams into a reservation of the cache, and is published once it is
/// complete.
final class Upload: BodySink {
    private let cache: DiskCache
    private let reservation: Reservation
    private let metadata: EntryMetadata
    /// The canonical URL from which the key is derived; `nil` if the caller chose the key.
    private let url: String?
    /// The declared charset of a JSON body. Unless it is UTF-8, bytes above 0x7F are refused.
    private let charset: JSONCharset
    private let condition: WriteCondition?

    /// - Parameters:
    ///   - url: the canonical URL from which the key is derived; `nil`, the default, if the caller chose the key.
    ///   - charset: the declared charset of a JSON body; UTF-8, the default, for any other body.
    ///   - condition: the request's conditions on the present entry; `nil` if it has none.
    init(
        cache: DiskCache, reservation: Reservation, metadata: EntryMetadata, url: String? = nil,
        charset: JSONCharset = .utf8, condition: WriteCondition?
    ) {
        self.cache = cache
        self.reservation = reservation
        self.metadata = metadata
        self.url = url
        self.charset = charset
        self.condition = condition
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> Backpressure {
        try BodyDecoding.check(charset, isASCII: bytes.allSatisfy { $0 < 0x80 })
        try reservation.receive(bytes)
        return .room
    }

    func abandon() {
        reservation.abandon()
    }

    /// Returns the plan for the request that sends this body.
    func plan(_ head: Endpoint.Head, service: LarderService) throws(Problem) -> Endpoint.Plan {
        do throws(Problem) {
            return try checkedPlan(head, service: service)
        } catch {
            reservation.abandon()
            throw error
        }
    }

    private func checkedPlan(_ head: Endpoint.Head, service: LarderService) throws(Problem) -> Endpoint.Plan {
        try Self.check(head.request)
        let removes = metadata.ttl <= .zero
        if !removes, let length = head.request.declaredLength {
            do {
                try reservation.expect(length: length)
            } catch {
                throw Problem(error)
            }
        }
        // RFC 9110 §13.2.1: conditions are checked after all other checks of the head, and before the body is read.
        try condition?.check(reservation.key.text, url: url, in: cache)
        if removes {
            reservation.abandon()
            return Endpoint.Plan(body: .none) { [self] (call) throws(Problem) in
                removeInstead(call, clock: service.clock)
            }
        }
        return Endpoint.Plan(body: .sink(self)) { [self] (call) throws(Problem) in
            try publish(call, length: head.request.declaredLength, clock: service.clock)
        }
    }

    /// Throws if the request sends only a part of a body, or an encoded body.
    private static func check(_ request: Request) throws(Problem) {
        // RFC 9110 §14.5: a part must not be stored as the whole.
        guard request.field("Content-Range") == nil else {
            throw .invalid("Content-Range is not supported, because an entry stores a whole body; leave it out")
        }
        // §8.4: readers of the entry would not learn that it is encoded.
        if let coding = request.field("Content-Encoding"), coding.lowercased() != "identity" {
            throw Problem(
                status: 415,
                detail:
                    "the Content-Encoding \"\(coding)\" is not supported, because bodies are stored as sent; send "
                    + "the body decoded"
            )
        }
    }

    private func publish(_ call: Call, length: Int64?, clock: any WallClock) throws(Problem) {
        if case .failed(let error) = call.exchange.body {
            reservation.abandon()
            if let error = error as? DiskCacheError { throw Problem(error) }
            if let problem = error as? Problem { throw problem }
            throw .invalid("the body could not be read: \(error)")
        }
        reservation.publish(metadata, expectedLength: length, condition: isAllowed) { result in
            switch result {
            case .success(let outcome):
                call.changed(outcome.entry.key)
                call.respond(.json(outcome.entry.json(at: clock.now())))
            case .failure(let error): call.respond(Problem(error))
            }
        }
    }

    /// Handles a ttl of 0, which stores no body and removes the present entry.
    private func removeInstead(_ call: Call, clock: any WallClock) {
        let key = reservation.key.text
        cache.remove(key, condition: isAllowed) { result in
            switch result {
            case .success(let removed): call.respondRemoved(removed ? 1 : 0, key)
            case .failure(let error): call.respond(Problem(error))
            }
        }
    }

    /// The request's conditions on the present entry, for the transaction of the change; `nil` if it has none.
    private var isAllowed: (@Sendable (Entry?) -> Bool)? {
        guard let condition else { return nil }
        // An entry of another URL with the same MD5 counts as absent.
        return { [url] entry in condition.holds(for: url == nil || entry?.url == url ? entry : nil) }
    }
}
