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
        /// The SHA-256 of a body that is sent as it was captured; `nil` for a body that Larder has made or changed.
        package var digest: [UInt8]?
        /// The marks of the resource and of its page, for ready answers; `nil` unless memory holds both.
        package var marks: (resource: HotEntry.Mark, page: HotEntry.Mark)?
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

    private struct State {
        var tickets = LinkedTable<String, Ticket>()
        var indexes = WeightedTable<[UInt8], CaptureIndex>(limit: 64 << 20)
    }

    let cache: DiskCache
    let clock: any WallClock
    private let metrics: PageCounters
    private let state = Locked(State())
    private let documents: ReplayDocuments
    /// Reads whole bodies, which takes too long for a thread of the cache or of the server.
    static let queue = DispatchQueue(label: "larder.pages.view", qos: .userInitiated, attributes: .concurrent)
    /// A ticket is valid for this time after its last use.
    static let ticketLife: Duration = .seconds(3600)
    /// Answers that are repeated without a look at the ticket count as a use of the ticket once in this time.
    private static let useInterval: Duration = .seconds(60)
    /// The most tickets of a namespace. The ticket that was used longest ago is the first to go.
    static let ticketLimit = 1000

    init(cache: DiskCache, clock: any WallClock, metrics: PageCounters) {
        self.cache = cache
        self.clock = clock
        self.metrics = metrics
        documents = ReplayDocuments(cache: cache)
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
                    metrics.views.increment()
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
        check(ticket) { page in
            guard page != nil else { return then(.failure(.absent)) }
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
        check(ticket) { [self] page in
            guard let page else { return then(.failure(.absent)) }
            index(ticket.capture.records) { [self] index in
                guard let index else { return then(.failure(.absent)) }
                let record = ticket.capture.snapshotRecord(of: url) ?? index.record(for: url)
                let answer = ReplayAnswer.answer(to: url, record, at: place)
                deliver(answer, url, page, index, place, then)
            }
        }
    }

    /// Renews a ticket, as each use does. Returns the time until which answers for it may be repeated without a further
    /// use; `nil` for an unknown or old ticket.
    package func renew(_ text: String, key: String) -> Timestamp? {
        use(text, key: key).map { $0.endDate - Self.ticketLife + Self.useInterval }
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

    /// `then` gets the page's entry; `nil` if the page no longer has the ticket's capture.
    private func check(_ ticket: Ticket, then: @escaping @Sendable (StoredEntry?) -> Void) {
        cache.find(ticket.key) { [self] found in
            guard let stored = (try? found.get()) ?? nil else { return then(nil) }
            if stored.entry.version == ticket.version { return then(stored) }
            let isHeld = PageManifest(of: stored)?.captures.contains { $0.number == ticket.capture.number } ?? false
            if isHeld {
                state.withLock { state in
                    guard var held = state.tickets[ticket.text] else { return }
                    held.version = stored.entry.version
                    state.tickets.append(held, for: held.text)
                }
            }
            then(isHeld ? stored : nil)
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
        _ answer: ReplayAnswer, _ url: WebURL, _ page: StoredEntry, _ index: CaptureIndex, _ place: ReplayPlace,
        _ then: @escaping @Sendable (Result<Answer, Failure>) -> Void
    ) {
        let (digest, format): ([UInt8], ArchivedDocument.Format?)
        switch answer.body {
        case .text(let text):
            let body = StoredBody.bytes(SharedBytes(Array(text.utf8)))
            return then(.success(Answer(status: answer.status, fields: answer.fields, body: body)))
        case .stored(let stored): (digest, format) = (stored, nil)
        case .rewritten(let stored, let own): (digest, format) = (stored, own)
        }
        cache.find(CacheKey.resource(digest: digest).text) { [self] found in
            guard let stored = (try? found.get()) ?? nil else { return then(.failure(.absent)) }
            @Sendable func delivered(_ body: StoredBody, _ digest: [UInt8]?) -> Answer {
                var result = Answer(status: answer.status, fields: answer.fields, body: body, digest: digest)
                if let resource = stored.hot, let page = page.hot { result.marks = (resource, page) }
                return result
            }
            guard let format else { return then(.success(delivered(stored.body, digest))) }
            let document = ReplayDocuments.Document(answer: answer, format: format, url: url, place: place)
            documents.rewrite(document, stored.body, index) { then($0.map { delivered(.bytes($0), nil) }) }
        }
    }

    /// Reads a resource as a whole; `nil` when the cache does not have it any more.
    func read(_ digest: [UInt8], then: @escaping @Sendable (SharedBytes?) -> Void) {
        cache.find(CacheKey.resource(digest: digest).text) { found in
            Self.queue.async { then(((try? found.get()) ?? nil).flatMap { try? $0.body.bytes() }) }
        }
    }
}
