import DiskCache
import Dispatch
import HTTPTypes
import Primitives
import WebArchive

/// Replays captured pages. A *ticket* is a random text in the URLs of a replay. Keys of pages can be guessed; without a
/// ticket, another site could read a page through the reader's browser.
///
/// ```swift
/// viewer.open(key) { result in … ticket.text, ticket.url … }
/// viewer.answer(ticket, key: key, url: "https://example.com/logo.png", at: place) { answer in … }
/// ```
package final class PageViewer: Sendable {
    /// The permission to see one capture of a page, as long as the page keeps this capture.
    package struct Ticket: Sendable {
        package let text: String
        package let key: String
        let capture: PageManifest.Capture
        fileprivate var version: Int64
        fileprivate var endDate: Timestamp

        /// The URL of the page's document, after redirects.
        package var url: String { capture.finalURL }
    }

    /// The answer of a replay to one request.
    package struct Answer: Sendable {
        package var status: Int
        package var fields: HTTPFields
        package var body: StoredBody
    }

    /// The reason for which a page, or a part of it, cannot be shown.
    package enum Failure: Error, Sendable {
        /// There is no such page, or it is gone since the ticket was given.
        case absent
        /// The page has no capture with this number, or has it no longer.
        case noCapture(key: String, Int64)
        /// The ticket is unknown or too old.
        case ticket
        /// The URL, or the field Host, is not one that a replay can have.
        case invalid
        /// Too many bytes are being rewritten for other requests.
        case busy
        case cache(DiskCacheError)
    }

    /// The name of a rewritten document: the replay in which its URLs lead, and its own URL.
    private struct RewrittenName: Hashable {
        var place: ReplayPlace
        var url: String
    }

    private struct State {
        var tickets = LinkedTable<String, Ticket>()
        var indexes = WeightedTable<[UInt8], CaptureIndex>(limit: 64 << 20)
        var rewritten = WeightedTable<RewrittenName, SharedBytes>(limit: 32 << 20)
    }

    let cache: DiskCache
    let clock: any WallClock
    private let metrics: PageCounters
    private let state = Locked(State())
    /// Reads whole bodies and rewrites documents, which takes too long for a thread of the cache or of the server.
    private static let queue = DispatchQueue(label: "larder.pages.view", qos: .userInitiated, attributes: .concurrent)
    /// The memory of all documents that are being rewritten. A rewriting takes about four times the document's length.
    private static let rewriteRoom = SharedAllowance(limit: 512 << 20)
    /// A ticket is valid for this time after its last use.
    static let ticketLife: Duration = .seconds(3600)
    /// The most tickets of a namespace. The ticket that was used longest ago is the first to go.
    static let ticketLimit = 1000

    init(cache: DiskCache, clock: any WallClock, metrics: PageCounters) {
        self.cache = cache
        self.clock = clock
        self.metrics = metrics
    }

    /// Gives a ticket for a capture of a page; `number` `nil`: the newest. `then` is called once, on any thread.
    package func open(
        _ key: String, capture number: Int64? = nil, then: @escaping @Sendable (Result<Ticket, Failure>) -> Void
    ) {
        find(key, number) { [self] page in
            then(
                page.map { stored, manifest, capture in
                    let ticket = Ticket(
                        text: (0..<16).map { _ in UInt8.random(in: 0...255) }.hex, key: key, capture: capture,
                        version: stored.entry.version, endDate: clock.now() + Self.ticketLife)
                    state.withLock { state in
                        state.tickets.append(ticket, for: ticket.text)
                        if state.tickets.count > Self.ticketLimit, let oldest = state.tickets.first {
                            state.tickets.remove(oldest.key)
                        }
                    }
                    if manifest.updatesExpiry { _ = cache.slide(stored.entry) }
                    cache.recordHit(stored.entry)
                    return ticket
                })
        }
    }

    // MARK: - With a ticket

    /// The document around a replay: a banner with the page's title, and the page in a frame. `then` is called once, on
    /// any thread.
    package func frame(
        _ text: String, key: String, at place: ReplayPlace,
        then: @escaping @Sendable (Result<Answer, Failure>) -> Void
    ) {
        guard let ticket = use(text, key: key) else { return then(.failure(.ticket)) }
        guard place.isValid else { return then(.failure(.invalid)) }
        check(ticket) { isHeld in
            guard isHeld else { return then(.failure(.absent)) }
            let frame = ReplayFrame(ticket.capture, at: place)
            then(.success(Answer(status: 200, fields: frame.fields, body: .bytes(SharedBytes(Array(frame.text.utf8))))))
        }
    }

    /// Answers a request for a captured URL of the page with this key. Never contacts an origin. `then` is called once,
    /// on any thread.
    package func answer(
        _ text: String, key: String, url: String, at place: ReplayPlace,
        then: @escaping @Sendable (Result<Answer, Failure>) -> Void
    ) {
        guard let ticket = use(text, key: key) else { return then(.failure(.ticket)) }
        guard let url = WebURL(url), place.isValid else { return then(.failure(.invalid)) }
        // A purge is final: a view ends once the page's entry is gone, or has lost this capture.
        check(ticket) { [self] isHeld in
            guard isHeld else { return then(.failure(.absent)) }
            index(ticket.capture.records) { [self] index in
                guard let index else { return then(.failure(.absent)) }
                metrics.views.increment()
                let record = ticket.capture.snapshotRecord(of: url) ?? index.record(for: url)
                let answer = ReplayAnswer.answer(to: url, record, at: place)
                deliver(answer, url, ticket, place, then)
            }
        }
    }

    /// Renews a ticket; `nil` for an unknown or old one, or if it is for another page.
    private func use(_ text: String, key: String) -> Ticket? {
        let now = clock.now()
        return state.withLock { state in
            guard var ticket = state.tickets[text], ticket.key == key else { return nil }
            guard now < ticket.endDate else {
                state.tickets.remove(text)
                return nil
            }
            ticket.endDate = now + Self.ticketLife
            state.tickets.append(ticket, for: text)
            return ticket
        }
    }

    private func check(_ ticket: Ticket, then: @escaping @Sendable (Bool) -> Void) {
        cache.find(ticket.key) { [self] found in
            guard let stored = (try? found.get()) ?? nil else { return then(false) }
            if stored.entry.version == ticket.version { return then(true) }
            let isHeld = PageManifest(of: stored)?.captures.contains { $0.number == ticket.capture.number } ?? false
            if isHeld {
                state.withLock { state in
                    guard var held = state.tickets[ticket.text] else { return }
                    held.version = stored.entry.version
                    state.tickets.append(held, for: held.text)
                }
            }
            then(isHeld)
        }
    }

    /// `digest`: of the capture's records.
    func index(_ digest: [UInt8], then: @escaping @Sendable (CaptureIndex?) -> Void) {
        if let index = state.withLock({ $0.indexes.value(for: digest) }) { return then(index) }
        read(digest) { [self] bytes in
            guard let bytes, let records = CaptureRecord.records(in: Array(bytes)) else { return then(nil) }
            let index = CaptureIndex(records)
            state.withLock { $0.indexes.insert(index, for: digest, weight: index.weight) }
            then(index)
        }
    }

    private func deliver(
        _ answer: ReplayAnswer, _ url: WebURL, _ ticket: Ticket, _ place: ReplayPlace,
        _ then: @escaping @Sendable (Result<Answer, Failure>) -> Void
    ) {
        func send(_ body: StoredBody) {
            then(.success(Answer(status: answer.status, fields: answer.fields, body: body)))
        }
        switch answer.body {
        case .text(let text): send(.bytes(SharedBytes(Array(text.utf8))))
        case .stored(let digest):
            cache.find(CacheKey.resource(digest: digest).text) { found in
                guard let stored = (try? found.get()) ?? nil else { return then(.failure(.absent)) }
                then(.success(Answer(status: answer.status, fields: answer.fields, body: stored.body)))
            }
        case .rewritten(let digest, let format):
            let name = RewrittenName(place: place, url: url.text)
            if let held = state.withLock({ $0.rewritten.value(for: name) }) { return send(.bytes(held)) }
            let room = SharedAllowance.Part(of: Self.rewriteRoom)
            guard room.take(4 * Int(answer.length)) else { return then(.failure(.busy)) }
            read(digest) { [self] bytes in
                defer { withExtendedLifetime(room) {} }
                guard let bytes else { return then(.failure(.absent)) }
                let document = ArchivedDocument(
                    [UInt8](bytes), format, contentType: answer.storedType, url: url, parent: answer.parentEncoding)
                let rewritten = SharedBytes(document.rewritten { url, _ in place.address(of: url) })
                state.withLock { $0.rewritten.insert(rewritten, for: name, weight: rewritten.count + 512) }
                then(.success(Answer(status: answer.status, fields: answer.fields, body: .bytes(rewritten))))
            }
        }
    }

    /// Reads a resource as a whole; `nil` when the cache does not have it any more.
    func read(_ digest: [UInt8], then: @escaping @Sendable (SharedBytes?) -> Void) {
        cache.find(CacheKey.resource(digest: digest).text) { found in
            Self.queue.async { then(((try? found.get()) ?? nil).flatMap { try? $0.body.bytes() }) }
        }
    }
}
