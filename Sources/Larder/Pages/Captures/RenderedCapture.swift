import Browser
import DiskCache
import Dispatch
import HTTPTypes
import Primitives
import WebArchive

/// Captures a page with its scripts. A browser shows the page; an ``OriginCapture`` answers all its requests, so each
/// request obeys the address policy and the limits. When the page has come to rest, its document is kept as it is then,
/// the *snapshot*, and the origin capture fetches the resources that the browser did not need.
///
/// Without a running browser, a request with the mode `auto` becomes a static capture.
///
/// Invariant: `state` is locked.
final class RenderedCapture: PageVisit {
    struct Options: Sendable {
        var width = 1280
        var height = 900
        var scrolls = true
        /// Whether the capture fails when the browser cannot show the page.
        var isRequired = false
        /// Whether the page's origin gets fields or cookies of the caller.
        var hasCredentials = false
        var time = Duration.seconds(60)
        var snapshotBytes = 20 << 20
    }

    private struct State {
        var isStarted = false
        /// The requests of the browser that wait.
        var pending = 0
        var count = 0
        var lastRequest = ContinuousClock.now
    }

    /// The part of the result that the browser contributes, and the task that waits for the browser.
    private final class Showing: Sendable {
        let rendering = Locked(VisitResult.Rendering())
        let task = Locked<Task<Void, Never>?>(nil)
    }

    private let page: WebURL
    private let visit: OriginCapture
    private let browsers: BrowserPool
    private let options: Options
    private let showing: Showing
    private let state = Locked(State())
    /// A page has come to rest when it has sent no request for this time.
    private static let rest = Duration.milliseconds(500)
    /// The most requests of a page, with those for a URL that it has requested before. A page that loads itself again
    /// and again ends here.
    private static let requestLimit = 10_000

    /// `makeVisit` makes the origin capture for a completion.
    init(
        _ page: WebURL, options: Options, browsers: BrowserPool,
        completion: @escaping @Sendable (VisitResult) -> Void,
        makeVisit: (@escaping @Sendable (VisitResult) -> Void) -> OriginCapture
    ) {
        self.page = page
        self.options = options
        self.browsers = browsers
        let showing = Showing()
        self.showing = showing
        visit = makeVisit { result in
            var result = result
            var rendering = showing.rendering.withLock(\.self)
            if !rendering.isRendered, rendering.problem == nil {
                rendering.problem = "the capture ended before the browser had shown the page"
                rendering.mayPass = true
            }
            result.rendering = rendering
            // A page that still waits for its scripts would keep a place in the browser.
            showing.task.withLock(\.self)?.cancel()
            completion(result)
        }
    }

    func start() {
        let task = Task { await run() }
        showing.task.withLock { $0 = task }
        // The end of the capture may have found no task.
        if visit.hasEnded { task.cancel() }
    }

    func cancel() { visit.cancel() }

    var progress: CaptureProgress { visit.progress }

    // MARK: - Showing the page

    private func run() async {
        do throws(BrowserError) {
            try await browsers.withPage(
                width: options.width, height: options.height,
                asked: { [weak self] page, request in
                    if let self { asked(page, request) } else { page.refuse(request) }
                },
                { [self] page throws(BrowserError) in try await show(page) })
        } catch {
            failed(error)
        }
    }

    /// The browser could not show the page.
    private func failed(_ error: BrowserError) {
        setProblem(error.description, mayPass: true)
        startVisit()
        if options.isRequired {
            visit.showingFailed(error.description)
        } else {
            visit.shown(nil, at: nil, isWhole: true)
        }
    }

    private func setProblem(_ words: String, mayPass: Bool) {
        showing.rendering.withLock { rendering in
            rendering.problem = words
            rendering.mayPass = mayPass
        }
    }

    /// Starts the time of the capture, once: it does not count while the capture waits for a place in the browser.
    private func startVisit() {
        let isFirst = state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted
        }
        if isFirst { visit.start() }
    }

    private func show(_ browserPage: BrowserPage) async throws(BrowserError) {
        guard !visit.hasEnded else { return }
        startVisit()
        let start = ContinuousClock.now
        // The last part of the time is for the snapshot, and for the resources that the browser did not need.
        let end = start + options.time * 0.75
        do {
            try await browserPage.navigate(to: page.text, before: end)
        } catch .refused(_, let reason) {
            // The document is a file that no browser shows, or its origin did not answer.
            setProblem("the browser cannot show the document: \(reason)", mayPass: false)
            return visit.shown(nil, at: nil, isWhole: true)
        }
        var isWhole = await settle(before: end)
        if options.scrolls, isWhole {
            _ = try? await browserPage.run(.scroll(time: max(end - .now, .zero)), before: end)
            isWhole = await settle(before: end)
        }
        guard !visit.hasEnded else { return }
        await keepDocument(of: browserPage, before: start + options.time * 0.9, isWhole: isWhole)
    }

    /// Waits until the page has come to rest. Returns `false` at `end`.
    private func settle(before end: ContinuousClock.Instant) async -> Bool {
        while ContinuousClock.now < end, !visit.hasEnded {
            let (pending, last) = state.withLock { ($0.pending, $0.lastRequest) }
            if pending == 0, ContinuousClock.now - last >= Self.rest { return true }
            try? await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    private func keepDocument(
        of browserPage: BrowserPage, before deadline: ContinuousClock.Instant, isWhole: Bool
    ) async {
        let room = SharedAllowance.Part(of: OriginCapture.documentRoom)
        defer { withExtendedLifetime(room) {} }
        let url = browserPage.url.flatMap { WebURL($0) } ?? page
        let snapshot = await readDocument(of: browserPage, url, room, before: deadline)
        let picture = try? await browserPage.screenshot(
            width: options.width, height: options.height, scale: 320 / Double(options.width), before: deadline)
        let keptSnapshot = await visit.store(snapshot)
        let keptPicture = await visit.store(picture)
        showing.rendering.withLock { rendering in
            rendering.isRendered = true
            rendering.snapshot = keptSnapshot
            rendering.screenshot = keptPicture
        }
        if keptSnapshot == nil, snapshot != nil { setProblem("the page's document could not be stored", mayPass: true) }
        visit.shown(keptSnapshot == nil ? nil : snapshot, at: url, isWhole: isWhole && keptSnapshot != nil)
    }

    /// The page's document as HTML; `nil`, with a problem, when it cannot be read in time, or is too long. `room`
    /// counts its bytes.
    private func readDocument(
        of browserPage: BrowserPage, _ url: WebURL, _ room: SharedAllowance.Part,
        before deadline: ContinuousClock.Instant
    ) async -> [UInt8]? {
        // The text arrives as JSON, and is held as text and as bytes.
        guard room.take(3 * options.snapshotBytes) else {
            setProblem("too many captures read documents at the same time", mayPass: true)
            return nil
        }
        // The script has a half of the time. The other half is for a page with a script that must be stopped first.
        let half = (deadline - .now) / 2
        let script = PageScript.snapshot(url: url.text, limit: options.snapshotBytes, time: half * 0.8)
        let text: String?
        do throws(BrowserError) {
            do throws(BrowserError) {
                text = try await browserPage.run(script, before: .now + half).stringValue
            } catch .timedOut {
                browserPage.stopScript()
                text = try await browserPage.run(script, before: deadline).stringValue
            }
        } catch {
            setProblem("the page's document could not be read: \(error)", mayPass: true)
            return nil
        }
        guard let text, text.utf8.count <= options.snapshotBytes else {
            setProblem("the page's document is no HTML, is too long, or took too long to read", mayPass: false)
            return nil
        }
        return Array(text.utf8)
    }

    // MARK: - The requests of the page

    private func asked(_ browserPage: BrowserPage, _ request: BrowserRequest) {
        let isTooMany = state.withLock { state in
            state.count += 1
            return state.count > Self.requestLimit
        }
        if isTooMany { return browserPage.refuse(request) }
        let scheme = request.url.prefix { $0 != ":" }
        // The last two are files of the browser, such as its viewer for PDF.
        if ["data", "blob", "about", "chrome", "chrome-extension"].contains(scheme) {
            return browserPage.pass(request)
        }
        if request.method == "OPTIONS" { return allow(browserPage, request) }
        // A page's other requests could change things at their origins, and a service worker would outlive the page.
        guard ["GET", "HEAD"].contains(request.method), let url = WebURL(request.url),
            !request.fields.contains(where: { $0.name.lowercased() == "service-worker" })
        else { return browserPage.refuse(request) }
        // The origin takes the request for one of the caller, so a frame of another origin must not read the answer.
        let asking = request.fields.first { $0.name.lowercased() == "origin" }?.value
        if options.hasCredentials, let asking, asking != page.origin, url.origin == page.origin {
            return browserPage.refuse(request)
        }
        state.withLock { state in
            state.pending += 1
            state.lastRequest = .now
        }
        visit.demand(url, request.kind, request.originFields) { [self] answer in
            if let answer {
                let isHead = request.method == "HEAD"
                browserPage.fulfill(request) { [visit] in visit.response(answer, withBody: !isHead) }
            } else {
                browserPage.refuse(request)
            }
            state.withLock { state in
                state.pending -= 1
                state.lastRequest = .now
            }
        }
    }

    /// Permits the request of which a page of another origin asks first (the preflight of Fetch §4.8). The response of
    /// the origin then decides.
    private func allow(_ browserPage: BrowserPage, _ request: BrowserRequest) {
        func value(_ name: String) -> [UInt8] {
            Array((request.fields.first { $0.name.lowercased() == name }?.value ?? "*").utf8)
        }
        let fields = [
            (name: "Access-Control-Allow-Origin", value: value("origin")),
            (name: "Access-Control-Allow-Methods", value: value("access-control-request-method")),
            (name: "Access-Control-Allow-Headers", value: value("access-control-request-headers")),
            (name: "Access-Control-Allow-Credentials", value: Array("true".utf8)),
        ]
        browserPage.fulfill(request) { BrowserResponse(status: 204, fields: fields, body: []) }
    }
}

extension BrowserRequest {
    fileprivate var kind: Reference.Kind {
        switch use {
        case .document: .frame
        case .style: .style
        case .image: .image
        case .media: .media
        case .font: .css
        case .script: .script
        case .track: .track
        case .manifest: .manifest
        case .other: .request
        }
    }

    /// The fields for the origin: those of the page, without those of the connection and of the browser's own caches.
    fileprivate var originFields: HTTPFields {
        var result = HTTPFields()
        for field in fields where !Self.dropped.contains(field.name.lowercased()) && !field.name.hasPrefix(":") {
            guard let name = HTTPField.Name(field.name), HTTPField.isValidValue(field.value) else { continue }
            result.append(HTTPField(name: name, value: field.value))
        }
        return result
    }

    private static let dropped: Set<String> = [
        "host", "connection", "content-length", "accept-encoding", "range", "if-range", "if-none-match",
        "if-modified-since", "upgrade-insecure-requests", "te", "transfer-encoding", "keep-alive", "upgrade",
    ]
}
