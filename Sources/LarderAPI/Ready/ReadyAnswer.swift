import DiskCache
import MicroHTTPD
import Primitives

/// An answer that is sent again, as it is, to whoever asks for the same: the namespace, the target byte for byte, the
/// fields of the request that it depends on, and no field that asks for something else (``RequestField``).
final class ReadyAnswer: Sendable {
    /// A field that the answer was selected by (RFC 9111 §4.1): its name in lower case, and what the one line of that
    /// name said; `nil`: there was none.
    struct Selector: Hashable {
        let name: [UInt8]
        let value: [UInt8]?
    }

    /// Which requests it is for.
    struct Requests: Hashable {
        /// See ``Namespace/id``.
        let namespace: Int
        /// Without a ``NamespacePrefix``.
        let target: [UInt8]
        /// What `Larder-TTL` said; `nil`: it was not there.
        let ttl: [UInt8]?
        let selectors: [Selector]
        /// Of the target and the namespace.
        let hash: Int

        init(namespace: Int, target: [UInt8], ttl: [UInt8]?, selectors: [Selector]) {
            self.namespace = namespace
            self.target = target
            self.ttl = ttl
            self.selectors = selectors
            hash = ReadyAnswer.hash(target.withUnsafeBytes(ReadyAnswer.hash), in: namespace)
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(hash)
            hasher.combine(ttl)
            hasher.combine(selectors)
        }
    }

    /// What makes it right.
    struct Validity: Sendable {
        /// The entry that it was made of.
        var entry: HotEntry.Mark
        /// The responses of the URL that it was selected from; `nil` when there was nothing to select from.
        var responses: ChangeMark?
        /// When it was made: before that the clock was set back.
        var from: Timestamp
        /// From when on it is no longer right, as it is or at all.
        var until: Timestamp

        var isCurrent: Bool { entry.isCurrent && responses?.isCurrent != false }
    }

    /// Makes the answer for an instant: what it is then, and from when on it is no longer right. `nil`: from then on
    /// nothing is.
    typealias Maker = @Sendable (Timestamp) -> (response: Response, until: Timestamp)?

    let requests: Requests
    let response: Response
    let validity: Validity
    let meter: RequestMetrics.Meter?
    /// For an instant at which this one's time is over; `nil`: then nothing is right.
    let renew: Maker?

    init(
        to requests: Requests, response: Response, validity: Validity, meter: RequestMetrics.Meter?, renew: Maker?
    ) {
        self.requests = requests
        self.response = response
        self.validity = validity
        self.meter = meter
        self.renew = renew
    }

    static func hash(_ target: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: target)
        return hasher.finalize()
    }

    /// Of a target in a namespace, by that of the target.
    static func hash(_ target: Int, in namespace: Int) -> Int {
        // Odd, so that all bits of both count.
        target ^ (namespace &* 0x1E37_79B9_7F4A_7C15)
    }

    /// The same answer as it is at another instant; `nil` when there is none any more.
    func renewed(at now: Timestamp) -> ReadyAnswer? {
        guard now >= validity.from, let (response, until) = renew?(now) else { return nil }
        var validity = validity
        (validity.from, validity.until) = (now, until)
        return ReadyAnswer(to: requests, response: response, validity: validity, meter: meter, renew: renew)
    }

    /// Whether it is for this target.
    func isFor(_ other: UnsafeRawBufferPointer) -> Bool {
        requests.target.withUnsafeBytes { $0.hasSameBytes(as: other) }
    }

    /// Whether a request for the target gets this answer.
    func answers(_ head: borrowing RawHead, _ wish: ReadyWish) -> Bool {
        guard requests.namespace == wish.namespace else { return false }
        switch (requests.ttl, wish.ttl) {
        case (nil, nil): break
        case (let own?, let ttl?): guard own.withUnsafeBytes(ttl.hasSameBytes) else { return false }
        default: return false
        }
        for selector in requests.selectors {
            var lines = 0
            for index in 0..<head.fieldCount {
                let field = head[field: index]
                guard field.isNamed(selector.name) else { continue }
                lines += 1
                guard let value = selector.value, value.withUnsafeBytes(field.value.hasSameBytes) else { return false }
            }
            guard lines == (selector.value == nil ? 0 : 1) else { return false }
        }
        return true
    }
}

/// What a request asks for, as far as answers at hand are told apart by more than its fields.
struct ReadyWish {
    /// The one that it means; see ``Namespace/id``.
    let namespace: Int
    /// Its target without a ``NamespacePrefix``.
    let target: UnsafeRawBufferPointer
    /// What its `Larder-TTL` says.
    let ttl: UnsafeRawBufferPointer?
}
