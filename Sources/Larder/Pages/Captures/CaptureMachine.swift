import WebArchive

/// Decides which resources a capture fetches, and in which order. A pure state machine: it gets the answers of fetches
/// as events, and returns actions. Each URL is fetched once, and once more after a failure that may pass.
///
/// While a browser shows the page, the machine fetches only the URLs that the browser demands, because the browser
/// waits for them. Afterwards it fetches the other URLs of the documents.
///
///     ┌─────────┐ fetch  ┌─────────┐ answered  ┌──────────┐
///     │ waiting ├───────►│ running ├──────────►│ captured │──► its references wait
///     └─────────┘        └────┬────┘           └──────────┘
///          ▲   may pass, once │ failed         ┌──────────┐
///          └──────────────────┴───────────────►│ missing  │
///                                              └──────────┘
struct CaptureMachine {
    /// A URL that a document or a redirect names, and the progress of its fetch.
    struct Resource: Sendable {
        let url: WebURL
        fileprivate(set) var kind: Reference.Kind
        fileprivate(set) var state = State.waiting
        /// The frames, or imports of style sheets, between the page and this resource.
        fileprivate(set) var frames: Int
        fileprivate(set) var imports: Int
        /// The redirects that led to this URL.
        fileprivate(set) var redirects: Int
        fileprivate var attempts = 0
        fileprivate let host: String

        /// See ``CaptureRecord/isWhole``.
        var isWhole: Bool { if case .captured(let status) = state { CaptureRecord.isWhole(status) } else { false } }
    }

    /// The progress of one URL.
    enum State: Hashable, Sendable {
        case waiting, running
        /// The origin has answered, also with an error status.
        case captured(status: Int)
        case missing(Reason)
    }

    private(set) var resources: [Resource] = []
    /// The bytes of all captured bodies.
    private(set) var bytes: Int64 = 0
    private(set) var outcome: Outcome?
    /// The index of the page itself, after the redirects so far.
    private(set) var page = 0
    private let limits: CaptureLimits
    private var indices: [String: Int] = [:]
    /// The waiting resources of each rank, in the order in which they were found.
    private var waiting: [[Int]]
    private var running: Set<Int> = []
    private var runningOfHost: [String: Int] = [:]
    /// Whether a limit kept a resource out that has no place in ``resources``.
    private(set) var isCut = false
    /// Whether a browser shows the page.
    private(set) var isShowing: Bool
    private var demanded: Set<Int> = []

    var progress: CaptureProgress {
        var progress = CaptureProgress()
        progress.found = resources.count
        progress.bytes = bytes
        for resource in resources {
            switch resource.state {
            case .captured(let status) where CaptureRecord.isWhole(status): progress.captured += 1
            case .captured, .missing: progress.missing += 1
            case .waiting, .running: break
            }
        }
        return progress
    }

    /// `isShown`: a browser will show the page.
    init(_ page: WebURL, limits: CaptureLimits = CaptureLimits(), isShown: Bool = false) {
        self.limits = limits
        isShowing = isShown
        waiting = Array(repeating: [], count: Self.ranks)
        _ = add(Found(url: page, kind: .frame), frames: 0, imports: 0, redirects: 0)
    }

    /// Call once, before the first event.
    mutating func start() -> [Action] { outcome == nil ? next() : [] }

    /// Events of resources that do not run, and events after the end, have no effect.
    mutating func handle(_ event: Event) -> [Action] {
        guard outcome == nil else { return [] }
        switch event {
        case .demanded(let found):
            if let index = add(found, frames: 0, imports: 0, redirects: 0) { demanded.insert(index) }
        case .shown(let last, let found, let isWhole):
            isShowing = false
            if let last, resources[last].isWhole { page = last }
            if !isWhole { isCut = true }
            add(found, of: page)
        case .showingFailed(let reason): return end(reason, isPageUsable: false)
        case .answered(let index, let status, let length, let found):
            guard stop(index) else { return [] }
            resources[index].state = .captured(status: status)
            bytes += length
            if index == page, !(200..<300).contains(status) {
                return end(.failed("the origin answered with status \(status)"), isPageUsable: false)
            }
            if bytes > limits.totalBytes { return end(.tooManyBytes) }
            add(found, of: index)
        case .redirected(let index, let status, let target):
            guard stop(index) else { return [] }
            if !follow(index, status, target), index == page { return end(.tooManyRedirects) }
        case .failed(let index, let reason, let mayPass):
            guard stop(index) else { return [] }
            if mayPass, resources[index].attempts < 2 {
                wait(index)
            } else {
                resources[index].state = .missing(reason)
                if index == page { return end(reason) }
            }
        case .timeLimitReached: return end(.timeLimit)
        case .byteLimitReached: return end(.tooManyBytes)
        case .cancelled: return end(.cancelled)
        }
        return next()
    }

    // MARK: - Finding

    /// Adds the URLs of a document. A frame and an imported style sheet are one level deeper than their document.
    private mutating func add(_ found: [Found], of index: Int) {
        let document = resources[index]
        for item in found {
            let isFrame = item.kind == .frame || item.kind == .refresh
            let isImport = item.kind == .style && document.kind == .style
            guard item.kind != .link, item.kind != .form, item.kind != .base else { continue }
            let frames = document.frames + (isFrame ? 1 : 0)
            let imports = isFrame ? 0 : document.imports + (isImport ? 1 : 0)
            guard frames <= limits.frameDepth, imports <= limits.styleDepth else {
                isCut = true
                continue
            }
            _ = add(item, frames: frames, imports: imports, redirects: 0)
        }
    }

    /// Returns `false` if the redirect leads to no body: too many redirects, or a redirect in a circle.
    private mutating func follow(_ index: Int, _ status: Int, _ target: WebURL) -> Bool {
        let resource = resources[index]
        guard resource.redirects < limits.redirects else {
            resources[index].state = .missing(.tooManyRedirects)
            return false
        }
        resources[index].state = .captured(status: status)
        let next = add(
            Found(url: target, kind: resource.kind), frames: resource.frames, imports: resource.imports,
            redirects: resource.redirects + 1)
        guard index == page else { return true }
        guard let next, resources[next].state == .waiting else { return false }
        page = next
        return true
    }

    /// The index of a URL that was found; `nil` for another one.
    func index(of url: WebURL) -> Int? { indices[url.text] }

    /// Returns the index of the URL; `nil` if the capture has no place for it.
    private mutating func add(_ found: Found, frames: Int, imports: Int, redirects: Int) -> Int? {
        if let index = indices[found.url.text] {
            // A document has more references than an image, so it is read as a document.
            if resources[index].state == .waiting, Self.rank(of: found.kind) < Self.rank(of: resources[index].kind) {
                resources[index].kind = found.kind
                resources[index].frames = frames
                resources[index].imports = imports
                wait(index)
            }
            return index
        }
        guard resources.count < limits.resources else {
            isCut = true
            return nil
        }
        indices[found.url.text] = resources.count
        resources.append(
            Resource(
                url: found.url, kind: found.kind, frames: frames, imports: imports, redirects: redirects,
                host: found.url.origin))
        wait(resources.count - 1)
        return resources.count - 1
    }

    // MARK: - Fetching

    private static let ranks = 4

    /// Documents and style sheets come first, because they lead to further resources, and media come last.
    private static func rank(of kind: Reference.Kind) -> Int {
        switch kind {
        case .frame, .refresh, .style: 0
        case .script, .css, .manifest, .preload, .svg, .object, .request: 1
        case .image, .icon, .lazy, .link, .form, .base: 2
        case .media, .track: 3
        }
    }

    private mutating func wait(_ index: Int) {
        resources[index].state = .waiting
        waiting[Self.rank(of: resources[index].kind)].append(index)
    }

    /// Returns `false` for a resource that does not run.
    private mutating func stop(_ index: Int) -> Bool {
        guard running.remove(index) != nil else { return false }
        let host = resources[index].host
        runningOfHost[host] = runningOfHost[host].flatMap { $0 > 1 ? $0 - 1 : nil }
        return true
    }

    /// Starts as many fetches as the limits permit, and ends the capture after the last resource.
    private mutating func next() -> [Action] {
        var actions: [Action] = []
        for rank in waiting.indices where running.count < limits.fetches && !waiting[rank].isEmpty {
            var kept: [Int] = []
            for index in waiting[rank] where resources[index].state == .waiting {
                // A resource that has got another rank waits there.
                guard Self.rank(of: resources[index].kind) == rank else { continue }
                let host = resources[index].host
                guard !isShowing || demanded.contains(index), running.count < limits.fetches,
                    runningOfHost[host, default: 0] < limits.fetchesPerHost
                else {
                    kept.append(index)
                    continue
                }
                running.insert(index)
                runningOfHost[host, default: 0] += 1
                resources[index].state = .running
                resources[index].attempts += 1
                let limit = Self.rank(of: resources[index].kind) == 0 ? limits.documentBytes : limits.resourceBytes
                actions.append(.fetch(index, limit: min(limit, limits.totalBytes - bytes)))
            }
            waiting[rank] = kept
        }
        if running.isEmpty, !isShowing { actions.append(finish()) }
        return actions
    }

    private mutating func finish() -> Action {
        let isWhole = !isCut && resources.allSatisfy(\.isWhole)
        outcome = isWhole ? .complete : .partial
        return .finish(isWhole ? .complete : .partial)
    }

    /// Ends the capture. Resources that were not captured are missing for `reason`.
    private mutating func end(_ reason: Reason, isPageUsable: Bool = true) -> [Action] {
        let actions = running.sorted().map(Action.cancel)
        running = []
        for index in resources.indices where resources[index].state == .waiting || resources[index].state == .running {
            resources[index].state = .missing(reason)
        }
        let hasPage =
            if case .captured = resources[page].state { isPageUsable && reason != .tooManyRedirects } else { false }
        outcome = reason == .cancelled ? .cancelled : hasPage ? .partial : .failed
        return actions + [.finish(outcome!)]
    }
}
