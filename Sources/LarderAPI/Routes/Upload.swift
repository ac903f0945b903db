import DiskCache
import HTTPCaching
import Larder
import MicroHTTPD
import Primitives

/// A body that a caller stores: it streams into a reservation of the cache, and is published when it is whole.
final class Upload: BodySink {
    private let cache: DiskCache
    private let reservation: Reservation
    private let metadata: EntryMetadata
    private let condition: ConditionalRequest?

    init(cache: DiskCache, reservation: Reservation, metadata: EntryMetadata, condition: ConditionalRequest?) {
        self.cache = cache
        self.reservation = reservation
        self.metadata = metadata
        self.condition = condition
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> Backpressure {
        try reservation.receive(bytes)
        return .room
    }

    func abandon() {
        reservation.abandon()
    }

    /// What becomes of the request whose body this is.
    func plan(_ head: Endpoint.Head, service: LarderService) throws(Problem) -> Endpoint.Plan {
        do throws(Problem) {
            try Self.check(head.request)
        } catch {
            reservation.abandon()
            throw error
        }
        if metadata.ttl <= .zero {
            reservation.abandon()
            return Endpoint.Plan(body: .none) { [self] (call) throws(Problem) in
                removeInstead(call, clock: service.clock)
            }
        }
        if let length = head.request.declaredLength {
            do {
                try reservation.expect(length: length)
            } catch {
                throw Problem(error)
            }
        }
        return Endpoint.Plan(body: .sink(self)) { [self] (call) throws(Problem) in
            try publish(call, length: head.request.declaredLength, clock: service.clock)
        }
    }

    /// Throws for a body that is not what is to be stored itself.
    private static func check(_ request: Request) throws(Problem) {
        // RFC 9110 §14.5: a part must not be stored as the whole.
        guard request.field("Content-Range") == nil else {
            throw .invalid("a part of a body cannot be stored; leave Content-Range out")
        }
        // §8.4: whoever reads it is not told that it is encoded.
        if let coding = request.field("Content-Encoding"), coding.lowercased() != "identity" {
            throw Problem(
                status: 415, detail: "a body is stored as it is: send it without the Content-Encoding \"\(coding)\"")
        }
    }

    private func publish(_ call: Call, length: Int64?, clock: any WallClock) throws(Problem) {
        if case .failed(let error) = call.exchange.body {
            reservation.abandon()
            if let error = error as? DiskCacheError { throw Problem(error) }
            throw .invalid("the body could not be read: \(error)")
        }
        reservation.publish(metadata, expectedLength: length, condition: isAllowed(at: clock.now())) { result in
            switch result {
            case .success(let outcome):
                call.changed(outcome.entry.key)
                call.respond(.json(outcome.entry.json(at: clock.now())))
            case .failure(let error): call.respond(Problem(error))
            }
        }
    }

    /// A ttl of 0 stores nothing and removes what is there.
    private func removeInstead(_ call: Call, clock: any WallClock) {
        let key = reservation.key.text
        cache.remove(key, condition: isAllowed(at: clock.now())) { result in
            switch result {
            case .success(let removed): call.respondRemoved(removed ? 1 : 0, key)
            case .failure(let error): call.respond(Problem(error))
            }
        }
    }

    /// The request's own condition on what is there; `nil` when it makes none.
    private func isAllowed(at now: Timestamp) -> (@Sendable (Entry?) -> Bool)? {
        guard let condition else { return nil }
        return { condition.evaluate($0?.representation(now: now)) == .proceed }
    }
}
