import DiskCache
import Dispatch
import HTTPTypes
import Logging
import Origin
import Primitives
import WebArchive

/// The steps of a capture: its start, the storing of its records and of the page's entry, and its end.
extension PageManager {
    func begin(_ key: String, _ job: Job) {
        let startDate = tools.clock.now()
        tell(.pageStarted, job.status, job.request)
        guard let url = WebURL(job.request.url.string) else {
            return end(key, job.number, .failed, .document(.failed, "its URL has no host that a browser accepts"))
        }
        let request = job.request
        tools.cache.beginCapture(of: request.url.string, tags: request.tags.sorted(), pinned: request.pinned) {
            [self] result in
            switch result {
            case .failure(let error): end(key, job.number, .failed, .cache(error))
            case .success(let page):
                let run = Run(key: key, number: job.number, request: request, page: page, startDate: startDate)
                var limits = request.limits
                // A capture takes at most a quarter of the disk limit, and the n-th capture at the same time an n-th of
                // a quarter, because the resources of running captures cannot be evicted.
                let count = Int64(max(state.withLock(\.fetching), 1))
                limits.totalBytes = min(limits.totalBytes, max(tools.cache.diskLimit / 4 / count, 1))
                let capture = visit(url, request, limits, into: page, advanced: { [weak self] in self?.advanced(run) })
                {
                    [self] result in
                    Self.steps.async { [self] in ended(run, result) }
                }
                let isCancelled = state.withLock { state in
                    state.running[key]?.capture = capture
                    state.running[key]?.page = page
                    return state.running[key]?.isCancelled ?? true
                }
                // This is the writer's thread, and the start may have to wait for the writer.
                Self.steps.async {
                    // A visit that is cancelled before its start ends at the start.
                    if isCancelled { capture.cancel() }
                    capture.start()
                }
            }
        }
    }

    private func visit(
        _ url: WebURL, _ request: PageRequest, _ limits: CaptureLimits, into page: PageCapture,
        advanced: @escaping @Sendable () -> Void, completion: @escaping @Sendable (VisitResult) -> Void
    ) -> any PageVisit {
        if let archive = request.archive {
            return ArchiveCapture(
                url, from: archive, limits: limits, into: page, tools: tools, advanced: advanced, completion: completion
            )
        }
        func makeStatic(isShown: Bool, completion: @escaping @Sendable (VisitResult) -> Void) -> OriginCapture {
            OriginCapture(
                url, document: request.document, fields: request.fields, cookies: request.cookies, limits: limits,
                isShown: isShown, obeysPauses: request.obeysPauses, into: page, tools: tools, advanced: advanced,
                completion: completion)
        }
        // A caller's own document is the state in which the caller's browser had it.
        let isShown = request.mode == .rendered || (request.mode == .auto && request.document == nil)
        guard isShown, let browsers else { return makeStatic(isShown: false, completion: completion) }
        let options = RenderedCapture.Options(
            width: request.viewport.width, height: request.viewport.height, scrolls: request.scrolls,
            isRequired: request.mode == .rendered,
            hasCredentials: !request.fields.isEmpty || !request.cookies.isEmpty, time: limits.time,
            snapshotBytes: Int(limits.documentBytes))
        return RenderedCapture(url, options: options, browsers: browsers, completion: completion) { completion in
            makeStatic(isShown: true, completion: completion)
        }
    }

    /// A capture that fetches, or is being stored.
    struct Run: Sendable {
        let key: String
        let number: Int
        let request: PageRequest
        let page: PageCapture
        let startDate: Timestamp
    }

    private func ended(_ run: Run, _ result: VisitResult) {
        let document = result.records[result.page]
        if let problem = result.rendering?.problem, result.outcome != .cancelled {
            let url = LoggedURL.text(of: run.request.url.string)
            logger.warning("page not rendered", metadata: ["url": "\(url)", "reason": "\(problem)"])
        }
        tools.metrics.pages.resources(.captured).increment(by: result.progress.captured)
        tools.metrics.pages.resources(.missing).increment(by: result.progress.missing)
        switch result.outcome {
        case .cancelled:
            let isWanted = state.withLock { $0.running[run.key]?.isCancelled } == false
            fail(run, isWanted && run.page.reservation.isPurged ? .purged : .cancelled)
        case .failed:
            let failure: PageError.Failure =
                switch result.reason {
                case .refused: .refused
                case .timedOut, .timeLimit: .timedOut
                default: .failed
                }
            let refusal: String? = document.answer.flatMap { answer in
                switch answer.status {
                case 200..<300: nil
                case 300..<400 where answer.fields[.location] != nil:
                    "its redirects end in no document: they form a circle, or lead to a URL that cannot be captured"
                default: "the origin answered with status \(answer.status)"
                }
            }
            let reason = document.reason ?? refusal ?? result.rendering?.problem ?? "it has no document"
            guard run.request.archive != nil else {
                return fail(run, .document(failure, reason), refusal: result.refusal)
            }
            fail(run, result.reason == .tooLarge ? .archiveTooLarge(limit: ArchiveReader.limit) : .archive(reason))
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
                    let capture = PageManifest.Capture(
                        number: run.page.number, startDate: run.startDate, endDate: tools.clock.now(),
                        mode: run.request.archive != nil
                            ? .imported : result.rendering?.isRendered == true ? .rendered : .static,
                        isComplete: result.outcome == .complete, isLimited: result.isLimited, finalURL: document.url,
                        title: result.title, captured: result.progress.captured, missing: result.progress.missing,
                        bytes: result.progress.bytes, records: outcome.entry.digest,
                        snapshot: result.rendering?.snapshot, screenshot: result.rendering?.screenshot,
                        browserProblem: problem(of: result, run.request), skipped: result.skipped)
                    let lacksSnapshot = capture.snapshot == nil && result.rendering?.mayPass == true
                    Self.steps.async { [self] in publish(run, capture, lacksSnapshot: lacksSnapshot) }
                }
            }
        }
    }

    private func problem(of result: VisitResult, _ request: PageRequest) -> String? {
        if let rendering = result.rendering { return rendering.problem }
        let isAutomatic = request.mode == .auto && request.document == nil && request.archive == nil
        return isAutomatic ? "this server has no browser, so no scripts ran" : nil
    }

    /// `lacksSnapshot`: the browser failed in a way that may pass.
    private func publish(_ run: Run, _ capture: PageManifest.Capture, lacksSnapshot: Bool) {
        tools.cache.find(run.key, expectingURL: run.request.url.string) { [self] found in
            let held = (try? found.get()) ?? nil
            Self.steps.async { [self] in
                let newest = held.flatMap { PageManifest(of: $0) }?.newest
                guard let newest, (lacksSnapshot && newest.snapshot != nil) || capture.isWorse(than: newest) else {
                    return publish(run, capture, replacing: held)
                }
                // The older capture can be shown only with its records, which may have been damaged and removed.
                tools.cache.find(CacheKey.resource(digest: newest.records).text) { records in
                    let isShown = (try? records.get()) ?? nil != nil
                    Self.steps.async { [self] in
                        let isCancelled = state.withLock { $0.running[run.key]?.isCancelled } == true
                        guard isShown, !isCancelled, !run.page.reservation.isPurged else {
                            return publish(run, capture, replacing: held)
                        }
                        run.page.abandon()
                        end(run.key, run.number, .partial, .worse)
                    }
                }
            }
        }
    }

    private func publish(_ run: Run, _ capture: PageManifest.Capture, replacing held: StoredEntry?) {
        let (request, page) = (run.request, run.page)
        let old = held.flatMap { PageManifest(of: $0) }
        if state.withLock({ $0.running[run.key]?.isCancelled }) == true { return fail(run, .cancelled) }
        let kept = max(request.capturesKept, 1)
        let captures = (old?.captures ?? []).suffix(kept - 1) + [capture]
        var metadata = EntryMetadata(ttl: request.ttl ?? tools.options.defaultTTL)
        metadata.contentType = "application/json"
        metadata.pinned = request.pinned
        metadata.downloadStartDate = capture.startDate
        metadata.downloadEndDate = capture.endDate
        let manifest = PageManifest(
            url: request.url.string, captures: Array(captures), updatesExpiry: request.updatesExpiry)
        do throws(DiskCacheError) {
            try page.reservation.receive(manifest.text)
        } catch {
            return fail(run, .cache(error))
        }
        let version = held?.entry.version
        page.publish(metadata, keepingCaptures: kept, condition: { $0?.version == version }) {
            [self] result in
            switch result {
            case .success(.stored): end(run.key, run.number, capture.isComplete ? .complete : .partial, nil)
            // The page that the capture would have replaced has changed or gone since it was looked up.
            case .success(.notKept), .failure(.conditionFailed): fail(run, .purged)
            case .failure(let error): fail(run, .cache(error))
            }
        }
    }

    private func fail(_ run: Run, _ problem: PageError, refusal: AnswerWithoutBody? = nil) {
        run.page.abandon()
        end(run.key, run.number, problem == .cancelled ? .cancelled : .failed, problem, refusal: refusal)
    }

    func end(
        _ key: String, _ number: Int, _ outcome: PageStatus.State, _ problem: PageError?,
        refusal: AnswerWithoutBody? = nil, hadPlace: Bool = true
    ) {
        let now = tools.clock.now()
        let (job, next) = state.withLock { state -> (Job?, (key: String, job: Job)?) in
            guard var job = state.running[key], job.number == number else { return (nil, nil) }
            state.running[key] = nil
            job.status = job.currentStatus
            job.status.state = outcome
            job.status.problem = problem
            job.status.refusal = refusal
            job.status.endDate = now
            // Under the lock, so that no listener gets the events of the page's next capture before.
            tell(.pageFinished, job.status, job.request)
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
        let counted = problem == .worse ? .unkept : PageCounters.Outcome(rawValue: outcome.rawValue)
        if let counted {
            tools.metrics.pages.captures(counted).increment()
        }
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

    // MARK: - Events

    private func tell(_ kind: Event.Kind, _ status: PageStatus, _ request: PageRequest) {
        guard events.isWanted else { return }
        let report = PageReport(
            key: status.key, url: status.url, state: status.state.rawValue, tags: request.tags.sorted(),
            found: status.progress.found, captured: status.progress.captured, missing: status.progress.missing,
            bytes: status.progress.bytes, problem: status.problem?.description)
        events.publish(kind, .page(report))
    }

    private func advanced(_ run: Run) {
        // A purged capture cannot become a page any more.
        if run.page.reservation.isPurged { state.withLock { $0.running[run.key]?.capture }?.cancel() }
        tellProgress(of: run)
    }

    private func tellProgress(of run: Run) {
        guard events.isHeard else { return }
        let delay = state.withLock { $0.running[run.key]?.pace.turn(at: .now) }
        guard let delay else { return }
        if delay == .zero { return tellProgressNow(of: run) }
        Self.steps.asyncAfter(deadline: .now() + .milliseconds(Int(delay.milliseconds) + 1)) { [weak self] in
            self?.state.withLock { $0.running[run.key]?.pace.keepPromise(at: .now) }
            self?.tellProgressNow(of: run)
        }
    }

    private func tellProgressNow(of run: Run) {
        state.withLock { state in
            guard let job = state.running[run.key], job.number == run.number else { return }
            tell(.pageProgress, job.currentStatus, job.request)
        }
    }
}

extension PageManifest.Capture {
    /// Whether a page loses by this capture in place of `other`.
    fileprivate func isWorse(than other: Self) -> Bool {
        if isComplete { return false }
        return other.isComplete || (missing > other.missing && captured < other.captured)
    }
}
