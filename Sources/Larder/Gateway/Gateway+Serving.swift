import DiskCache
import HTTPCaching
import HTTPTypes
import Primitives

extension Gateway {
    /// The reason for serving a stored response.
    enum Occasion: Sendable {
        /// The response may be used without asking the origin.
        case hit
        /// The origin confirmed the response. `isStored`: whether the new head was stored.
        case revalidated(isStored: Bool)
        /// The origin failed, and the stale response may be used in place of its answer.
        case staleAfter(OriginFailure)
    }

    /// Serves a stored response. If its body is gone, asks the origin. If another answer has replaced it, decides anew.
    func serve(_ held: HeldResponse, to call: GatewayCall, as occasion: Occasion) {
        if !held.parts.isEmpty { return serve(partsOf: held, to: call, as: occasion) }
        tools.cache.find(held.entry.key, expectingURL: held.head.url) { [self] found in
            switch found {
            case .success(let stored?): answer(call, held, stored, occasion)
            case .failure(.closed): call.fail(.origin(.stopping))
            case .success(nil), .failure: fetchInstead(call, .miss)
            }
        }
    }

    /// Sends pieces of several bodies (RFC 9111 §3.4). Asks the origin when a part is missing or has changed.
    private func serve(
        partsOf held: HeldResponse, to call: GatewayCall, as occasion: Occasion,
        behind found: [(range: Range<Int64>, body: StoredBody)] = [], from first: Int = 0
    ) {
        guard first < held.parts.count else { return answer(call, held, found, occasion) }
        let part = held.parts[first]
        tools.cache.find(part.entry.key, expectingURL: held.head.url) { [self] result in
            var found = found
            if case .success(let stored?) = result, stored.entry.version == part.entry.version,
                stored.body.length == Int64(part.range.count)
            {
                found.append((part.range, stored.body))
            }
            serve(partsOf: held, to: call, as: occasion, behind: found, from: first + 1)
        }
    }

    private func answer(
        _ call: GatewayCall, _ held: HeldResponse, _ bodies: [(range: Range<Int64>, body: StoredBody)],
        _ occasion: Occasion
    ) {
        let body = PartedBody(bodies, length: held.head.completeLength)
        let served = held.head.completeLength.flatMap { length in
            self.served(
                held, to: call,
                .init(
                    status: held.head.status, fields: held.head.fields, length: length,
                    available: held.head.part == nil ? nil : ByteCoverage(bodies.map(\.range))))
        }
        guard let served, let sent = served.body(of: body) else { return fetchInstead(call, .partial) }
        for part in held.parts { tools.cache.recordHit(part.entry) }
        answer(call, held, held.entry, served, sent, occasion)
    }

    private func answer(_ call: GatewayCall, _ held: HeldResponse, _ stored: StoredEntry, _ occasion: Occasion) {
        // If another answer was stored since the head was read, decides anew, about the new answer.
        guard stored.entry.version == held.entry.version else { return dispatch(call) }
        var entry = stored.entry
        if case .hit = occasion, call.request.updatesExpiry, call.request.ttl != nil, held.head.grant != nil {
            entry = tools.cache.slide(stored.entry, ttl: call.request.ttl)
        }
        tools.cache.recordHit(entry)
        let whole = PartedBody([(0..<stored.body.length, stored.body)])
        let served = served(
            held, to: call, .init(status: held.head.status, fields: held.head.fields, length: stored.body.length))
        guard let served, let sent = served.body(of: whole) else {
            return fetchInstead(call, .partial)
        }
        var reuse: AnswerReuse?
        if case .hit = occasion, case .whole = served.body, let hot = stored.hot, let changes = held.changes {
            reuse = AnswerReuse(
                of: held, entry, fields: served.fields, to: call, hot: hot, changes: changes, now: tools.clock.now())
        }
        answer(call, held, entry, served, sent, occasion, reuse: reuse)
    }

    /// Asks the origin. Several calls that find the body missing, for example after a purge, share one request. After
    /// several attempts without a whole body, a call makes a request of its own.
    private func fetchInstead(_ call: GatewayCall, _ reason: ForwardReason) {
        call.reason = reason
        if call.wasSentBack() { call.goAlone() }
        send(call, held: nil)
    }

    private func served(
        _ held: HeldResponse, to call: GatewayCall, _ stored: ServedResponse.Stored
    ) -> ServedResponse? {
        let now = tools.clock.now()
        return ServedResponse(
            to: call.request.method, call.request.fields, from: stored,
            age: held.head.freshness.currentAge(at: now), now: now, boundary: Self.boundary())
    }

    private func answer(
        _ call: GatewayCall, _ held: HeldResponse, _ entry: Entry, _ served: ServedResponse,
        _ body: GatewayAnswer.Body, _ occasion: Occasion, reuse: AnswerReuse? = nil
    ) {
        if case .hit = occasion {
            tools.metrics.hits.increment()
            unite(call.request.tags, with: held.parts.isEmpty ? [entry] : held.parts.map(\.entry))
        }
        var fields = served.fields
        status(of: held, entry, for: call, occasion, now: tools.clock.now()).append(to: &fields)
        Via.append(to: &fields)
        call.answer(GatewayAnswer(status: served.status, fields: fields, body: body, reuse: reuse))
    }

    /// Adds tags to entries that lack them, unless an entry would have too many tags. The cache adds the tags before it
    /// begins any purge that is requested later.
    func unite(_ tags: Set<String>, with entries: [Entry]) {
        for entry in entries where !tags.isSubset(of: entry.tags) {
            guard tags.union(entry.tags).count <= Entry.tagLimit else { continue }
            tools.cache.update(entry.key, addingTags: tags.sorted()) { _ in }
        }
    }

    private func status(
        of held: HeldResponse, _ entry: Entry, for call: GatewayCall, _ occasion: Occasion, now: Timestamp
    ) -> CacheStatus {
        var status: CacheStatus
        switch occasion {
        case .hit:
            status = CacheStatus(.hit)
        case .revalidated(let isStored):
            status = CacheStatus(.forwarded(call.reason))
            status.forwardStatus = 304
            status.isStored = isStored
            status.isCollapsed = call.isFollower ? true : nil
        case .staleAfter(let failure):
            status = CacheStatus(.forwarded(call.reason))
            status.detail = "stale"
            if case .status(let code) = failure { status.forwardStatus = code }
        }
        status.ttl = held.head.remaining(for: call.cacheRequest, expiry: entry.expiryDate, now: now)
        status.key = entry.key
        return status
    }

    /// Returns a boundary of 128 random bits. No sender of a body can know it in advance.
    private static func boundary() -> String {
        (0..<16).map { _ in UInt8.random(in: 0...255) }.hex
    }
}

extension StoredResponse {
    /// The time for which the response stays fresh for a request; negative when it is stale.
    func remaining(for request: CacheRequest, expiry: Timestamp, now: Timestamp) -> Duration {
        isExpirySet || (request.callerTTL != nil && grant != nil)
            ? expiry - now : freshness.remaining(at: now)
    }
}

extension ServedResponse {
    /// The length to state for a body that is not sent (RFC 9110 §8.6). For HEAD: the length of the body of the answer
    /// to GET. For a 304: the length of the representation, because the server states a length in each 304.
    func withheldLength(of length: Int64) -> Int64 {
        status == 304 ? length : fields[.contentLength].flatMap { Int64($0) } ?? 0
    }

    /// Returns the body to send from stored bytes; `nil` when some of the bytes are missing.
    func body(of stored: PartedBody) -> GatewayAnswer.Body? {
        switch body {
        case .none:
            return .withheld(length: withheldLength(of: stored.length))
        case .whole:
            return stored.pieces(0..<stored.length).map { .pieces($0) }
        case .range(let range):
            return stored.pieces(range).map { .pieces($0) }
        case .multipart(let parts):
            var pieces: [GatewayAnswer.Piece] = []
            for (index, range) in parts.ranges.enumerated() {
                guard let part = stored.pieces(range) else { return nil }
                pieces += [.bytes(SharedBytes(parts.head(of: index)))] + part
            }
            return .pieces(pieces + [.bytes(SharedBytes(parts.closing))])
        }
    }
}

/// A body that consists of several stored parts, each with its range of bytes, or of a single complete body.
struct PartedBody {
    private let parts: [(range: Range<Int64>, body: StoredBody)]
    let length: Int64

    /// The parts are in the order of their first bytes. `length`: of the whole body; `nil`: up to the last held byte.
    init(_ parts: [(range: Range<Int64>, body: StoredBody)], length: Int64? = nil) {
        self.parts = parts
        self.length = length ?? parts.map(\.range.upperBound).max() ?? 0
    }

    /// Returns the pieces that make up a range; `nil` when a byte of the range is not held.
    func pieces(_ wanted: Range<Int64>) -> [GatewayAnswer.Piece]? {
        var pieces: [GatewayAnswer.Piece] = []
        var position = wanted.lowerBound
        for (range, body) in parts where position < wanted.upperBound && range.contains(position) {
            let end = min(range.upperBound, wanted.upperBound)
            pieces.append(.stored(body, position - range.lowerBound..<end - range.lowerBound))
            position = end
        }
        return position < wanted.upperBound ? nil : pieces
    }
}
