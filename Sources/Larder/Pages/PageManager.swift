import Browser
import DiskCache
import Dispatch
import Logging
import Primitives

/// Captures pages, and keeps the states of their captures. Two captures of one page never run at the same time: a
/// request joins the running one.
///
/// ```swift
/// let status = try pages.capture(PageRequest(url: url)) { status in … status.state … }
/// ```
///
/// Invariants, all under the lock of `state`:
/// - `running` has the captures that fetch and those of `queue`, and `fetching` counts the first.
/// - A capture has a place among `fetching` until its end, which gives the place to the first of `queue`.
package final class PageManager: Sendable {
    /// Called once, on a thread that it must not block.
    package typealias Completion = @Sendable (PageStatus) -> Void

    /// A capture that waits, fetches or is being stored, and the requests that share it.
    struct Job: Sendable {
        /// Tells this job from an earlier one of the same page.
        let number: Int
        var request: PageRequest
        var status: PageStatus
        var completions: [Completion] = []
        var capture: (any PageVisit)?
        var page: PageCapture?
        var pace = ReportPace()
        /// The bytes of the request's document.
        let room: SharedAllowance.Part
        var isCancelled = false

        /// Whether the capture cannot become a page any more.
        var isDoomed: Bool { isCancelled || page?.reservation.isPurged == true }

        var currentStatus: PageStatus {
            var status = status
            if let capture { status.progress = capture.progress }
            return status
        }
    }

    struct State {
        var running: [String: Job] = [:]
        var queue: [String] = []
        var fetching = 0
        var jobCount = 0
        var ended = LinkedTable<String, PageStatus>()
        var isStopping = false
    }

    let tools: FetchTools
    /// For ``ArchiveFile``s.
    private let directory: String
    private let archives = ArchivePlaces()
    let events: NamespaceEvents
    private let schemes: Set<String>
    /// `nil`: this server has no browser.
    let browsers: BrowserPool?
    let logger: Logger
    let state = Locked(State())
    /// Steps that may wait for the writer or the disk, which neither the writer's nor an origin's thread may do.
    static let steps = DispatchQueue(label: "larder.pages", qos: .utility, attributes: .concurrent)
    /// The most captures that fetch at the same time.
    static let placeLimit = 8
    /// The most captures that fetch or wait.
    static let jobLimit = 1000
    /// The most ended captures of which the state is kept.
    static let endedLimit = 1000

    init(
        tools: FetchTools, directory: String, events: NamespaceEvents, schemes: Set<String>, browsers: BrowserPool?,
        logger: Logger
    ) {
        self.tools = tools
        self.directory = directory
        self.events = events
        self.schemes = schemes
        self.browsers = browsers
        self.logger = logger
    }

    // MARK: - For callers

    /// Starts a capture, or joins the running one of the same page with its own limits, ttl and tags. While a cancelled
    /// or purged capture of the page ends, throws ``PageError/ending``. `completion` gets the state at the end.
    /// Returns the state now.
    @discardableResult
    package func capture(
        _ request: PageRequest, completion: Completion? = nil
    ) throws(PageError) -> PageStatus {
        guard schemes.contains(request.url.scheme) else { throw .schemeRefused(request.url.scheme) }
        guard request.mode != .rendered || browsers != nil else { throw .noBrowser }
        let key = request.key.text
        let now = tools.clock.now()
        let room = SharedAllowance.Part(of: OriginCapture.documentRoom)
        if let document = request.document, !room.take(document.count) { throw .busy }
        let (result, begun) = state.withLock { state -> (Result<PageStatus, PageError>, Job?) in
            guard !state.isStopping else { return (.failure(.stopping), nil) }
            if var job = state.running[key] {
                guard !job.isDoomed else { return (.failure(.ending), nil) }
                guard request.isVisit(of: job.request) else { return (.failure(.otherVisit), nil) }
                if let completion { job.completions.append(completion) }
                state.running[key] = job
                return (.success(job.currentStatus), nil)
            }
            guard state.running.count < Self.jobLimit else { return (.failure(.busy), nil) }
            let begins = state.fetching < Self.placeLimit
            let status = PageStatus(
                key: key, url: request.url.string, state: begins ? .fetching : .queued, queuedDate: now)
            state.jobCount += 1
            let job = Job(
                number: state.jobCount, request: request, status: status,
                completions: completion.map { [$0] } ?? [], room: room)
            state.running[key] = job
            if begins { state.fetching += 1 } else { state.queue.append(key) }
            return (.success(status), begins ? job : nil)
        }
        if let begun { begin(key, begun) }
        if case .failure(.ending) = result { cancel(key) }
        return try result.get()
    }

    /// The state of the page's running or last capture; `nil` when there was none, or long ago.
    package func status(of key: String) -> PageStatus? {
        state.withLock { $0.running[key]?.currentStatus ?? $0.ended[key] }
    }

    /// The states of the captures that run, and of those that ended with a problem, in the order of their keys.
    package var statuses: [PageStatus] {
        let all = state.withLock { state in
            state.running.values.map(\.currentStatus) + state.ended.latest(Self.endedLimit).filter { $0.problem != nil }
        }
        return all.sorted { $0.key < $1.key }
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

    /// The page's entry, fresh or stale, with its manifest as the body. Waits for the disk, and for the verification of
    /// a body that may be damaged. `nil` also for a damaged one.
    package func stored(_ key: String) -> StoredEntry? {
        let found: StoredEntry?
        switch try? tools.cache.load(key) {
        case .hit(let stored): found = stored
        case .needsVerification: found = verified(key)
        case .absent, .onDisk, nil: found = nil
        }
        return found?.entry.kind == .page ? found : nil
    }

    private func verified(_ key: String) -> StoredEntry? {
        let found = Locked<StoredEntry?>(nil)
        let isDone = DispatchSemaphore(value: 0)
        tools.cache.verify(key) { result in
            found.withLock { $0 = (try? result.get()) ?? nil }
            isDone.signal()
        }
        isDone.wait()
        return found.withLock(\.self)
    }

    /// Makes a file for an archive that a caller sends. The file takes at most a quarter of the disk limit, and counts
    /// against the limit and the reserve until it is released. Throws ``PageError/tooManyArchives(limit:)`` while
    /// other archives are being received, searched or imported, and the error of the cache if an archive of `length`
    /// bytes has no room. `nil`: the length is not known.
    package func makeArchive(length: Int64? = nil) throws(PageError) -> ArchiveFile {
        guard let place = archives.take() else { throw .tooManyArchives(limit: archives.limit) }
        let limit = max(tools.cache.diskLimit / 4, 1)
        let file = try ArchiveFile(in: directory, limit: limit, room: tools.cache.makeTemporaryRoom(), place: place)
        if let length { try file.expect(length) }
        return file
    }

    /// Returns the URL of the page in an archive. Reads the archive, which may take long. Throws
    /// ``PageError/cancelled`` when `isCancelled` returns `true`, and ``PageError/stopping`` after ``stop()``.
    package func page(
        in archive: ArchiveFile, isCancelled: @escaping @Sendable () -> Bool = { false }
    ) throws(PageError) -> String {
        do throws(PageError) {
            return try search(archive, isCancelled)
        } catch {
            archive.giveBackPlace()
            throw error
        }
    }

    private func search(
        _ archive: ArchiveFile, _ isCancelled: @escaping @Sendable () -> Bool
    ) throws(PageError) -> String {
        do {
            let reader = try ArchiveReader(archive) { [self] in
                isCancelled() || state.withLock { $0.isStopping }
            }
            if let url = try reader.page() { return url }
        } catch PageError.cancelled {
            throw isCancelled() ? .cancelled : .stopping
        } catch let error as PageError {
            throw error
        } catch {
            throw .archive("\(error)")
        }
        throw .noPage
    }

    /// See ``DiskCache/bytesOfPage(_:)``. Waits for the disk.
    package func bytes(of key: String) throws(CacheError) -> (all: Int64, shared: Int64) {
        try tools.cache.bytesOfPage(key)
    }

    package var runningCount: Int { state.withLock { $0.running.count } }
}
