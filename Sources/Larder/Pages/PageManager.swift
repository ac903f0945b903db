import DiskCache
import HTTPTypes
import Logging
import Origin
import Primitives
import WebArchive

/// Captures pages, and keeps the states of their captures. Two captures of one page never run at the same time: a
/// request joins the running one.
///
/// Invariants, all under the lock of `state`:
/// - A key is in `running` from its request to its end, and in `queue` while it waits for a place.
/// - At most ``placeLimit`` captures fetch at the same time.
package final class PageManager: Sendable {
    /// Called once, on a thread that it must not block.
    package typealias Completion = @Sendable (PageStatus) -> Void

    private struct Job: Sendable {
        var request: PageRequest
        var status: PageStatus
        var completions: [Completion] = []
        var capture: StaticCapture?
        var isCancelled = false
    }

    private struct State {
        var running: [String: Job] = [:]
        var queue: [String] = []
        var fetching = 0
        var ended = LinkedTable<String, PageStatus>()
        var isStopping = false
    }

    private let tools: FetchTools
    private let schemes: Set<String>
    private let logger: Logger
    private let state = Locked(State())
    /// The most captures that fetch at the same time.
    static let placeLimit = 8
    /// The most captures that fetch or wait.
    static let jobLimit = 1000
    /// The most ended captures of which the state is kept.
    static let endedLimit = 1000

    init(tools: FetchTools, schemes: Set<String>, logger: Logger) {
        self.tools = tools
        self.schemes = schemes
        self.logger = logger
    }

    // MARK: - For callers

    /// Starts a capture, or joins the running one of the same page, whose limits, fields and tags then count.
    /// `completion` gets the state at the end. Returns the state now.
    @discardableResult
    package func capture(
        _ request: PageRequest, completion: Completion? = nil
    ) throws(PageError) -> PageStatus {
        guard schemes.contains(request.url.scheme) else { throw .schemeRefused(request.url.scheme) }
        let key = request.key.text
        let now = tools.clock.now()
        let (result, begins) = state.withLock { state -> (Result<PageStatus, PageError>, Bool) in
            guard !state.isStopping else { return (.failure(.stopping), false) }
            if var job = state.running[key] {
                if let completion { job.completions.append(completion) }
                state.running[key] = job
                return (.success(job.status), false)
            }
            guard state.running.count < Self.jobLimit else { return (.failure(.busy), false) }
            let begins = state.fetching < Self.placeLimit
            let status = PageStatus(
                key: key, url: request.url.string, state: begins ? .fetching : .queued, queuedDate: now)
            state.running[key] = Job(request: request, status: status, completions: completion.map { [$0] } ?? [])
            if begins { state.fetching += 1 } else { state.queue.append(key) }
            return (.success(status), begins)
        }
        if begins { begin(key, request) }
        return try result.get()
    }

    /// The state of the page's running or last capture; `nil` when there was none, or long ago.
    package func status(of key: String) -> PageStatus? {
        state.withLock { $0.running[key]?.status ?? $0.ended[key] }
    }

    /// Returns `false` when no capture of the page runs.
    @discardableResult
    package func cancel(_ key: String) -> Bool {
        let (isKnown, capture, isQueued) = state.withLock { state -> (Bool, StaticCapture?, Bool) in
            guard state.running[key] != nil else { return (false, nil, false) }
            state.running[key]?.isCancelled = true
            let isQueued = state.queue.contains(key)
            state.queue.removeAll { $0 == key }
            return (true, state.running[key]?.capture, isQueued)
        }
        if isQueued { end(key, .cancelled, .cancelled, hadPlace: false) }
        capture?.cancel()
        return isKnown
    }

    /// Cancels all captures, and refuses further ones.
    package func stop() {
        let keys = state.withLock { state in
            state.isStopping = true
            return Array(state.running.keys)
        }
        for key in keys { cancel(key) }
    }

    /// See ``DiskCache/bytesOfPage(_:)``. Waits for the disk.
    package func bytes(of key: String) throws(CacheError) -> (all: Int64, shared: Int64) {
        try tools.cache.bytesOfPage(key)
    }

    package var runningCount: Int { state.withLock { $0.running.count } }

    // MARK: - A capture, step by step

    private func begin(_ key: String, _ request: PageRequest) {
        let startDate = tools.clock.now()
        guard let url = WebURL(request.url.string) else {
            return end(key, .failed, .document("its URL has no host that a browser accepts"))
        }
        tools.cache.beginCapture(of: request.url.string, tags: request.tags.sorted(), pinned: request.pinned) {
            [self] result in
            switch result {
            case .failure(let error): end(key, .failed, .cache(error))
            case .success(let page):
                let capture = StaticCapture(
                    url, fields: request.fields, cookies: request.cookies, limits: request.limits, into: page,
                    tools: tools
                ) { [self] result in
                    ended(key, request, page, result, startDate: startDate)
                }
                let isCancelled = state.withLock { state in
                    state.running[key]?.capture = capture
                    return state.running[key]?.isCancelled ?? true
                }
                if isCancelled { capture.cancel() } else { capture.start() }
            }
        }
    }

    private func ended(
        _ key: String, _ request: PageRequest, _ page: PageCapture, _ result: StaticCapture.Result, startDate: Timestamp
    ) {
        let document = result.records[result.page]
        switch result.outcome {
        case .cancelled:
            page.abandon()
            end(key, .cancelled, .cancelled)
        case .failed:
            page.abandon()
            end(key, .failed, .document(document.problem ?? "it has no document"))
        case .complete, .partial:
            let records = page.reserveResource()
            do throws(DiskCacheError) {
                try records.receive(CaptureRecord.text(of: result.records))
            } catch {
                page.abandon()
                return end(key, .failed, .cache(error))
            }
            records.publish(EntryMetadata(ttl: .zero)) { [self] stored in
                switch stored {
                case .failure(let error):
                    page.abandon()
                    end(key, .failed, .cache(error))
                case .success(let outcome):
                    let missing = result.records.filter { $0.answer == nil }.count
                    let capture = PageManifest.Capture(
                        number: page.number, startDate: startDate, endDate: tools.clock.now(),
                        isComplete: result.outcome == .complete, finalURL: document.url, title: result.title,
                        captured: result.records.count - missing, missing: missing, bytes: result.bytes,
                        records: outcome.entry.digest)
                    // Leaves the writer's thread, because the next step may have to wait for the disk.
                    tools.cache.onDiskThread { [self] in publish(key, request, page, capture) }
                }
            }
        }
    }

    private func publish(
        _ key: String, _ request: PageRequest, _ page: PageCapture, _ capture: PageManifest.Capture
    ) {
        tools.cache.find(key, expectingURL: request.url.string) { [self] found in
            let held = (try? found.get()) ?? nil
            let old = held.flatMap { PageManifest(of: $0) }
            if !capture.isComplete, old?.newest?.isComplete == true {
                page.abandon()
                return end(key, .partial, .worse)
            }
            let kept = max(request.capturesKept, 1)
            let captures = (old?.captures ?? []).suffix(kept - 1) + [capture]
            var metadata = EntryMetadata(ttl: request.ttl ?? tools.options.defaultTTL)
            metadata.contentType = "application/json"
            metadata.pinned = request.pinned
            metadata.downloadStartDate = capture.startDate
            metadata.downloadEndDate = capture.endDate
            do throws(DiskCacheError) {
                try page.reservation.receive(PageManifest(url: request.url.string, captures: Array(captures)).text)
            } catch {
                page.abandon()
                return end(key, .failed, .cache(error))
            }
            let version = held?.entry.version
            page.reservation.publish(metadata, keepingCaptures: kept, condition: { $0?.version == version }) {
                [self] result in
                switch result {
                case .success(.stored): end(key, capture.isComplete ? .complete : .partial, nil)
                case .success(.notKept):
                    page.abandon()
                    end(key, .failed, .purged)
                case .failure(let error):
                    page.abandon()
                    end(key, .failed, .cache(error))
                }
            }
        }
    }

    private func end(_ key: String, _ outcome: PageStatus.State, _ problem: PageError?, hadPlace: Bool = true) {
        let now = tools.clock.now()
        let (job, next) = state.withLock { state -> (Job?, (String, PageRequest)?) in
            guard var job = state.running.removeValue(forKey: key) else { return (nil, nil) }
            job.status.state = outcome
            job.status.problem = problem
            job.status.endDate = now
            _ = state.ended.remove(key)
            state.ended.append(job.status, for: key)
            if state.ended.count > Self.endedLimit, let oldest = state.ended.first { _ = state.ended.remove(oldest.key) }
            guard hadPlace else { return (job, nil) }
            guard !state.queue.isEmpty else {
                state.fetching -= 1
                return (job, nil)
            }
            let next = state.queue.removeFirst()
            state.running[next]?.status.state = .fetching
            return (job, state.running[next].map { (next, $0.request) })
        }
        guard let job else { return }
        if outcome == .failed {
            logger.info(
                "capture failed", metadata: ["url": "\(job.status.url)", "reason": "\(problem?.description ?? "")"])
        }
        for completion in job.completions { completion(job.status) }
        if let next { begin(next.0, next.1) }
    }
}
