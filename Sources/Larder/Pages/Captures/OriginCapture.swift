import DiskCache
import Dispatch
import HTTPTypes
import Origin
import Primitives
import WebArchive

/// Fetches a page and the resources that its documents name, without running scripts. Performs the actions of a
/// ``CaptureMachine``; each body becomes a resource of the ``PageCapture``. A ``RenderedCapture`` adds the requests of
/// a browser.
///
/// Invariants:
/// - One lock guards `state`. Actions follow after the lock is released.
/// - The origin client calls a ``CaptureFetch`` on its own threads, and the cache on the writer's thread. Documents are
///   read on `queue`, because a large document takes long.
final class OriginCapture: PageVisit {
    struct State {
        var machine: CaptureMachine
        var transfers: [Int: OriginTransfer] = [:]
        var records: [Int: CaptureRecord] = [:]
        /// The encoding of the document that named a URL first. A style sheet without an encoding of its own has it.
        var encodings: [String: TextEncoding] = [:]
        var title: String?
        var cookies: CaptureCookies
        /// The bytes of all bodies so far, with those of bodies that are not complete.
        var received: Int64 = 0
        /// The browser's demands that have no answer yet, by the index of their resource.
        var demands: [Int: [@Sendable (Demanded?) -> Void]] = [:]
        /// The fields of the browser's requests.
        var demandedFields: [Int: HTTPFields] = [:]
        /// The last answer in place of the page's document.
        var refusal: AnswerWithoutBody?
        /// The cookies of the answers, for the browser.
        var setCookies: [String: [String]] = [:]

        /// Removes the demands that have an answer now, and returns the calls that give it.
        mutating func takeAnswers() -> [@Sendable () -> Void] {
            var calls: [@Sendable () -> Void] = []
            for (index, callers) in demands {
                let answer: Demanded?
                switch machine.resources[index].state {
                case .waiting, .running: continue
                case .captured: answer = records[index].map { Demanded(record: $0, cookies: setCookies[$0.url] ?? []) }
                case .missing: answer = nil
                }
                demands[index] = nil
                for caller in callers { calls.append { caller(answer) } }
            }
            return calls
        }
    }

    /// The answer for a browser.
    struct Demanded: Sendable {
        var record: CaptureRecord
        var cookies: [String]
    }

    /// The most bytes of documents that all captures of the process hold while they arrive and are read.
    static let documentRoom = SharedAllowance(limit: 256 << 20)
    /// The most bytes of a document. The references of a longer one are not followed.
    var documentLimit: Int { Int(limits.documentBytes) }

    let capture: PageCapture
    let tools: FetchTools
    private let page: WebURL
    /// The caller's own fields. Only the page's origin gets them.
    private let fields: HTTPFields
    /// The caller's own document; `nil`: the origin's.
    private let document: [UInt8]?
    private let limits: CaptureLimits
    /// Whether hosts that want a pause are not asked.
    let obeysPauses: Bool
    let state: Locked<State>
    private let advanced: @Sendable () -> Void
    private let completion: @Sendable (VisitResult) -> Void
    static let queue = DispatchQueue(label: "larder.pages.read", qos: .utility, attributes: .concurrent)
    private var queue: DispatchQueue { Self.queue }

    /// `cookies` are the caller's own `NAME=VALUE` for the page's host. `advanced` is called after each answer,
    /// and at the end.
    /// `completion` is called once. Both must not wait. `isShown`: a browser shows the page, until
    /// ``shown(_:at:isWhole:)``.
    init(
        _ page: WebURL, document: [UInt8]? = nil, fields: HTTPFields = [:], cookies: [String] = [],
        limits: CaptureLimits = CaptureLimits(), isShown: Bool = false, obeysPauses: Bool = false,
        into capture: PageCapture, tools: FetchTools,
        advanced: @escaping @Sendable () -> Void = {}, completion: @escaping @Sendable (VisitResult) -> Void
    ) {
        self.page = page
        self.fields = fields
        self.limits = limits
        self.obeysPauses = obeysPauses
        self.capture = capture
        self.tools = tools
        self.document = document
        self.advanced = advanced
        self.completion = completion
        var held = CaptureCookies()
        for cookie in cookies { held.setOwn(cookie, for: page) }
        state = Locked(State(machine: CaptureMachine(page, limits: limits, isShown: isShown), cookies: held))
    }

    func start() {
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(limits.time.milliseconds))) { [weak self] in
            self?.handle(.timeLimitReached)
        }
        perform(state.withLock { $0.machine.start() })
    }

    func cancel() { handle(.cancelled) }

    var progress: CaptureProgress { state.withLock(\.machine.progress) }

    func handle(_ event: CaptureMachine.Event, also change: (inout State) -> Void = { _ in }) {
        let (actions, answers, hadEnded) = state.withLock { state in
            let hadEnded = state.machine.outcome != nil
            change(&state)
            let actions = state.machine.handle(event)
            return (actions, state.takeAnswers(), hadEnded)
        }
        perform(actions)
        for answer in answers { answer() }
        // The owner cancels a purged capture in this call, and would cancel an ended capture without end.
        if !hadEnded { advanced() }
    }

    func perform(_ actions: [CaptureMachine.Action]) {
        for action in actions {
            switch action {
            case .fetch(let index, let limit): fetch(index, limit: limit)
            case .cancel(let index): state.withLock { $0.transfers[index] }?.cancel()
            case .finish(let outcome): finish(outcome)
            }
        }
    }

    private func fetch(_ index: Int, limit: Int64) {
        if index == 0, let document { return store(document, limit: limit) }
        let (resource, cookies, demanded) = state.withLock { state in
            let resource = state.machine.resources[index]
            return (resource, state.cookies.header(for: resource.url), state.demandedFields[index] ?? [:])
        }
        var request = OriginRequest(url: resource.url.text)
        request.followsRedirects = false
        request.sizeLimit = limit
        request.addressPolicy = tools.options.addressPolicy
        request.fields = demanded
        if resource.url.origin == page.origin {
            for field in fields { request.fields[field.name] = nil }
            for field in fields { request.fields.append(field) }
        }
        if let cookies, fields[.cookie] == nil || resource.url.origin != page.origin {
            let joined = CaptureCookies.joined(request.fields[.cookie], cookies)
            // The setter for a value would make a field for each cookie, which RFC 6265 §5.4 forbids.
            request.fields[fields: .cookie] = [HTTPField(name: .cookie, value: joined)]
        }
        if index != 0, request.fields[.referer] == nil {
            // The default policy of browsers: another origin learns only the origin (Referrer Policy §3.7).
            let referrer = resource.url.origin == page.origin ? page.text : page.origin + "/"
            let isDowngrade = page.scheme == "https" && resource.url.scheme != "https"
            if !isDowngrade { request.fields[.referer] = referrer }
        }
        let fetch = CaptureFetch(index, resource, of: self)
        let transfer = tools.origin.fetch(request, receiver: fetch)
        let isWanted = state.withLock { state in
            guard state.machine.resources[index].state == .running else { return state.machine.outcome == nil }
            state.transfers[index] = transfer
            return true
        }
        if !isWanted { transfer.cancel() }
    }

    /// Stores the caller's own document as the page.
    private func store(_ document: [UInt8], limit: Int64) {
        let type = "text/html; charset=utf-8"
        guard document.count <= limit else { return failed(0, .tooLarge, mayPass: false) }
        // The caller holds the room of the document.
        let room = SharedAllowance.Part(of: Self.documentRoom)
        let reservation = capture.reserveResource()
        do throws(DiskCacheError) {
            try reservation.receive(document)
        } catch {
            return failed(0, .failed(error.description), mayPass: false)
        }
        reservation.publish(EntryMetadata(ttl: .zero)) { [self] result in
            switch result {
            case .success(let outcome):
                let answer = CaptureRecord.Answer(
                    status: 200, fields: [.contentType: type], digest: outcome.entry.digest,
                    length: outcome.entry.contentLength)
                let record = CaptureRecord(url: page.text, kind: .frame, date: tools.clock.now(), answer: answer)
                answered(0, record, .html, body: document, room)
            case .failure(let error): failed(0, .failed(error.description), mayPass: false)
            }
        }
    }

    private func finish(_ outcome: CaptureMachine.Outcome) {
        let result = state.withLock { state in
            state.transfers = [:]
            state.setCookies = [:]
            let now = tools.clock.now()
            let records = state.machine.resources.enumerated().map { index, resource in
                var record = CaptureRecord(url: resource.url.text, kind: resource.kind, date: now)
                switch resource.state {
                case .captured: record = state.records[index] ?? record
                case .missing(let reason): record.problem = reason.words
                case .waiting, .running: record.problem = CaptureMachine.Reason.cancelled.words
                }
                return record
            }
            let page = state.machine.page
            let reason: CaptureMachine.Reason? =
                if case .missing(let reason) = state.machine.resources[page].state { reason } else { nil }
            return VisitResult(
                outcome: outcome, records: records, page: page, reason: reason, refusal: state.refusal,
                title: state.title, progress: state.machine.progress, isLimited: state.machine.isCut)
        }
        completion(result)
    }

    // MARK: - Answers, from CaptureFetch

    func set(_ cookies: [String], by url: WebURL) {
        guard !cookies.isEmpty else { return }
        state.withLock { state in
            for cookie in cookies { state.cookies.set(cookie, by: url) }
            if state.machine.isShowing { state.setCookies[url.text] = cookies }
        }
    }

    /// Notes an answer in place of the resource's document, if the resource is the page.
    func refused(_ index: Int, _ answer: AnswerWithoutBody) {
        state.withLock { state in
            if index == state.machine.page { state.refusal = answer }
        }
    }

    func redirected(_ index: Int, _ record: CaptureRecord, to target: WebURL) {
        let status = record.answer?.status ?? 302
        handle(.redirected(index, status: status, to: target)) { $0.records[index] = record }
    }

    func failed(_ index: Int, _ reason: CaptureMachine.Reason, mayPass: Bool) {
        handle(.failed(index, reason, mayPass: mayPass))
    }

    func received(_ count: Int) {
        let isOver = state.withLock { state in
            state.received += Int64(count)
            return state.received > limits.totalBytes
        }
        if isOver { handle(.byteLimitReached) }
    }

    /// `body` is the body of a document, in `format`; `room` counts its bytes. Leaves the caller's thread, which is the
    /// writer's: the end of the capture may have to wait for the writer.
    func answered(
        _ index: Int, _ record: CaptureRecord, _ format: ArchivedDocument.Format?, body: [UInt8],
        _ room: SharedAllowance.Part
    ) {
        queue.async { [self] in
            defer { withExtendedLifetime(room) {} }
            guard let answer = record.answer, let url = WebURL(record.url) else { return }
            guard let format else { return ended(index, record, answer, nil) }
            let parent = state.withLock { $0.encodings[record.url] } ?? .utf8
            var record = record
            if parent != .utf8 { record.encoding = parent.name }
            let type = answer.fields[.contentType]
            ended(index, record, answer, ArchivedDocument(body, format, contentType: type, url: url, parent: parent))
        }
    }

    private func ended(
        _ index: Int, _ record: CaptureRecord, _ answer: CaptureRecord.Answer, _ document: ArchivedDocument?
    ) {
        let found = document?.found ?? []
        let event = CaptureMachine.Event.answered(index, status: answer.status, bytes: answer.length, found: found)
        handle(event) { state in
            state.records[index] = record
            guard let document else { return }
            if index == state.machine.page { state.title = document.title }
            for sheet in found where sheet.kind == .style {
                if state.encodings[sheet.url.text] == nil { state.encodings[sheet.url.text] = document.encoding }
            }
        }
    }
}
