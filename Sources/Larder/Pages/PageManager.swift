import DiskCache
import Dispatch
import HTTPTypes
import Logging
import Origin
import Primitives
import WebArchive

/// Captures pages, and keeps the states of their captures. Two captures of one page never run at the same time: a
/// request joins the running one.
///
/// Invariants, all under the lock of `state`:
package final class PageManager: Sendable {
    /// Called once, on a thread that it must not block.
    package typealias Completion = @Sendable (PageStatus) -> Void

    private struct Job: Sendable {
        /// Tells this job from an earlier one of the same page.
        let number: Int
        var request: PageRequest
        var status: PageStatus
        var completions: [Completion] = []
        var capture: StaticCapture?
        var page: PageCapture?
        var isCancelled = false

        /// Whether the capture cannot become a page any more.
        var isDoomed: Bool { isCancelled || page?.reservation.isPurged == true }
    }

    private struct State {
        var running: [String: Job] = [:]
        var queue: [String] = []
        var fetching = 0
        var jobCount = 0
        var ended = LinkedTable<String, PageStatus>()
        var isStopping = false
    }

    private let tools: FetchTools
    private let schemes: Set<String>
    private let logger: Logger
    private let state = Locked(State())
    /// Steps that may wait for the writer or the disk, which neither the writer's nor an origin's thread may do.
    private static let steps = DispatchQueue(label: "larder.pages", qos: .utility, attributes: .concurrent)
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

    /// Starts a capture, or joins the running one of the same page with its own limits, fields and tags. While a
    /// cancelled or purged capture of the page ends, throws ``PageError/busy``. `completion` gets the state at the end.
    /// Returns the state now.
    @discardableResult
    package func capture(
        _ request: PageRequest, completion: Completion? = nil
    ) throws(PageError) -> PageStatus {
        guard schemes.contains(request.url.scheme) else { throw .schemeRefused(request.url.scheme) }
        let key = request.key.text
        let now = tools.clock.now()
        let (result, begun) = state.withLock { state -> (Result<PageStatus, PageError>, Job?) in
            guard !state.isStopping else { return (.failure(.stopping), nil) }
            if var job = state.running[key] {
                guard !job.isDoomed else { return (.failure(.busy), nil) }
                if let completion { job.completions.append(completion) }
                state.running[key] = job
                return (.success(job.status), nil)
            }
            guard state.running.count < Self.jobLimit else { return (.failure(.busy), nil) }
            let begins = state.fetching < Self.placeLimit
            let status = PageStatus(
                key: key, url: request.url.string, state: begins ? .fetching : .queued, queuedDate: now)
            state.jobCount += 1
            let job = Job(
                number: state.jobCount, request: request, status: status,
                completions: completion.map { [$0] } ?? [])
            state.running[key] = job
            if begins { state.fetching += 1 } else { state.queue.append(key) }
            return (.success(status), begins ? job : nil)
        }
        if let begun { begin(key, begun) }
        return try result.get()
    }

    /// The state of the page's running or last capture; `nil` when there was none, or long ago.
    package func status(of key: String) -> PageStatus? {
        state.withLock { $0.running[key]?.status ?? $0.ended[key] }
    }

    /// Returns `false` when no capture of the page runs.
    @discardableResult
    package func cancel(_ key: String) -> Bool {
        let (job, isQueued) = state.withLock { state -> (Job?, Bool) in
            guard state.running[key] != nil else { return (nil, false) }
            state.running[key]?.isCancelled = true
            let isQueued = state.queue.contains(key)
            state.queue.removeAll { $0 == key }
            return (state.running[key], isQueued)
        }
        guard let job else { return false }
        if isQueued { end(key, job.number, .cancelled, .cancelled, hadPlace: false) }
        job.capture?.cancel()
        return true
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

    private func begin(_ key: String, _ job: Job) {
        let startDate = tools.clock.now()
        guard let url = WebURL(job.request.url.string) else {
            return end(key, job.number, .failed, .document("its URL has no host that a browser accepts"))
        }
        let request = job.request
        tools.cache.beginCapture(of: request.url.string, tags: request.tags.sorted(), pinned: request.pinned) {
            [self] result in
            switch result {
            case .failure(let error): end(key, job.number, .failed, .cache(error))
            case .success(let page):
                let run = Run(key: key, number: job.number, request: request, page: page, startDate: startDate)
                var limits = request.limits
                // A capture never evicts most of the cache.
                limits.totalBytes = min(limits.totalBytes, max(tools.cache.diskLimit / 4, 1))
                let capture = StaticCapture(
                    url, fields: request.fields, cookies: request.cookies, limits: limits, into: page, tools: tools
                ) { [self] result in
                    Self.steps.async { [self] in ended(run, result) }
                }
                let isCancelled = state.withLock { state in
                    state.running[key]?.capture = capture
                    state.running[key]?.page = page
                    return state.running[key]?.isCancelled ?? true
                }
                if isCancelled { capture.cancel() } else { capture.start() }
            }
        }
    }

    /// A capture that fetches, or is being stored.
    private struct Run: Sendable {
        let key: String
        let number: Int
        let request: PageRequest
        let page: PageCapture
        let startDate: Timestamp
    }

    private func ended(_ run: Run, _ result: StaticCapture.Result) {
        let document = result.records[result.page]
        switch result.outcome {
        case .cancelled: fail(run, .cancelled)
        case .failed: fail(run, .document(document.problem ?? "it has no document"))
        case .complete, .partial:
            let records = run.page.reserveResource()
            do throws(DiskCacheError) {
                try records.receive(CaptureRecord.text(of: result.records))
            } catch {
                return fail(run, .cache(error))
            }
            records.publish(EntryMetadata(ttl: .zero)) { [self] stored in
                switch stored {
                case .failure(let error): fail(run, .cache(error))
                case .success(let outcome):
                    let missing = result.records.filter { $0.answer == nil }.count
                    let capture = PageManifest.Capture(
                        number: run.page.number, startDate: run.startDate, endDate: tools.clock.now(),
                        isComplete: result.outcome == .complete, finalURL: document.url, title: result.title,
                        captured: result.records.count - missing, missing: missing, bytes: result.bytes,
                        records: outcome.entry.digest)
                    Self.steps.async { [self] in publish(run, capture) }
                }
            }
        }
    }

    private func publish(_ run: Run, _ capture: PageManifest.Capture) {
        tools.cache.find(run.key, expectingURL: run.request.url.string) { [self] found in
            let held = (try? found.get()) ?? nil
            Self.steps.async { [self] in publish(run, capture, replacing: held) }
        }
    }

    private func publish(_ run: Run, _ capture: PageManifest.Capture, replacing held: StoredEntry?) {
        let (request, page) = (run.request, run.page)
        let old = held.flatMap { PageManifest(of: $0) }
        if state.withLock({ $0.running[run.key]?.isCancelled }) == true { return fail(run, .cancelled) }
        if let newest = old?.newest, capture.isWorse(than: newest), isHeld(newest) {
            page.abandon()
            return end(run.key, run.number, .partial, .worse)
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
            return fail(run, .cache(error))
        }
        let version = held?.entry.version
        page.publish(metadata, keepingCaptures: kept, condition: { $0?.version == version }) {
            [self] result in
            switch result {
            case .success(.stored): end(run.key, run.number, capture.isComplete ? .complete : .partial, nil)
            case .success(.notKept): fail(run, .purged)
            case .failure(let error): fail(run, .cache(error))
            }
        }
    }

    /// Whether the capture can be shown: its records may have been damaged and removed.
    private func isHeld(_ capture: PageManifest.Capture) -> Bool {
        if case .hit? = try? tools.cache.resource(capture.records) { true } else { false }
    }

    private func fail(_ run: Run, _ problem: PageError) {
        run.page.abandon()
        end(run.key, run.number, problem == .cancelled ? .cancelled : .failed, problem)
    }

    private func end(
        _ key: String, _ number: Int, _ outcome: PageStatus.State, _ problem: PageError?, hadPlace: Bool = true
    ) {
        let now = tools.clock.now()
        let (job, next) = state.withLock { state -> (Job?, (key: String, job: Job)?) in
            guard var job = state.running[key], job.number == number else { return (nil, nil) }
            state.running[key] = nil
            job.status.state = outcome
            job.status.problem = problem
            job.status.endDate = now
            state.ended.append(job.status, for: key)
            if state.ended.count > Self.endedLimit, let oldest = state.ended.first { state.ended.remove(oldest.key) }
            guard hadPlace else { return (job, nil) }
            guard !state.queue.isEmpty else {
                state.fetching -= 1
                return (job, nil)
            }
            let next = state.queue.removeFirst()
            state.running[next]?.status.state = .fetching
            return (job, state.running[next].map { (next, $0) })
        }
        guard let job else { return }
        if outcome == .failed {
            logger.info(
                "capture failed",
                metadata: [
                    "url": "\(LoggedURL.text(of: job.status.url))", "reason": "\(problem?.description ?? "")",
                ])
        }
        for completion in job.completions { completion(job.status) }
        if let next { begin(next.key, next.job) }
    }
}

extension PageManifest.Capture {
    /// Whether a page loses by this capture in place of `other`.
    fileprivate func isWorse(than other: Self) -> Bool {
        if isComplete { return false }
        return other.isComplete || (missing > other.missing && captured < other.captured)
    }
}
