import Larder
import MicroHTTPD
import Primitives

/// An answer that is sent again unchanged to every request with the same namespace, the same target byte for byte, the
/// same values of the selecting fields, and no field that asks for a different answer (``RequestField``).
final class ReadyAnswer: Sendable {
    /// A request field that selected the answer (RFC 9111 §4.1): the name in lower case, and the only line's value.
    struct Selector: Hashable {
        let name: [UInt8]
        let value: [UInt8]?
    }

    struct Requests: Hashable {
        let namespace: Int
        /// The target of the requests, without its ``NamespacePrefix``.
        let target: [UInt8]
        /// The value of `Larder-TTL`; `nil` if the requests have no such field.
        let ttl: [UInt8]?
        let selectors: [Selector]
        /// The hash of the target and the namespace.
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

    struct Validity: Sendable {
        var entry: HotEntry.Mark
        /// Marks changes of the URL's stored responses, if the answer was selected from them; else `nil`.
        var responses: ChangeMark?
        /// The page to which the entry belongs as a resource. Without the page, no caller may see the resource. `nil`
        /// for an entry of its own.
        var page: HotEntry.Mark?
        /// The time at which the answer was made. If the clock is set back to an earlier time, the answer is dropped.
        var from: Timestamp
        /// The time from which on the answer must be renewed or dropped.
        var until: Timestamp

        /// Counts the hit of the answer. The resources of a page count none, but stay in memory by their use.
        func recordHit(at now: Timestamp) {
            guard let page else { return entry.entry.recordHit(at: now) }
            entry.entry.recordUse()
            page.entry.recordUse()
        }

        var isCurrent: Bool {
            entry.isCurrent && responses?.isCurrent != false && page?.isCurrent != false
        }
    }

    /// Makes the answer for a given time, with the end of its validity; `nil` if no answer is valid then.
    typealias Maker = @Sendable (Timestamp) -> (response: Response, until: Timestamp)?

    let requests: Requests
    let response: Response
    let validity: Validity
    let meter: Counter?
    /// Renews the answer after ``Validity/until``; `nil` if the answer is dropped at that time.
    let renew: Maker?

    init(to requests: Requests, response: Response, validity: Validity, meter: Counter?, renew: Maker?) {
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

    static func hash(_ target: Int, in namespace: Int) -> Int {
        // The factor is odd, so that different namespaces always give different hashes of a target.
        target ^ (namespace &* 0x1E37_79B9_7F4A_7C15)
    }

    func renewed(at now: Timestamp) -> ReadyAnswer? {
        guard now >= validity.from, let (response, until) = renew?(now) else { return nil }
        var validity = validity
        (validity.from, validity.until) = (now, until)
        return ReadyAnswer(to: requests, response: response, validity: validity, meter: meter, renew: renew)
    }

    func isFor(_ other: UnsafeRawBufferPointer) -> Bool {
        requests.target.withUnsafeBytes { $0.hasSameBytes(as: other) }
    }

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

/// A request that looks for its ready answer, without the fields of its head.
struct ReadyWish {
    let namespace: Int
    let target: UnsafeRawBufferPointer
    let ttl: UnsafeRawBufferPointer?
}
