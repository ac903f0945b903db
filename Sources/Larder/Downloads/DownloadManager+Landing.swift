import DiskCache
import Logging
import Primitives

extension DownloadManager {
    /// Removes an ended fetch from `running`, and answers its `waiters`. If callers are queued that must not get this
    /// result, a new fetch for them follows at once, in the same place of `places`. If the server is stopping, the
    /// queued callers get ``DownloadError/stopping`` instead.
    func land(
        _ fetch: DownloadFetch, with result: Result<DownloadResult, DownloadError>, for waiters: [DownloadFetch.Waiter],
        unpublished: EntryWishes
    ) {
        let (key, request) = (fetch.policy.key, fetch.policy.request)
        let now = tools.clock.now()
        count(result, elapsed: fetch.policy.elapsed)
        if case .failure(let error) = result { warn(about: fetch, error) }
        let (refused, successor) = state.withLock { state -> (DownloadFetch.Machine.Queue, DownloadFetch?) in
            guard let running = state.running.removeValue(forKey: key.text) else { return (.init(), nil) }
            var status = Self.status(of: fetch)
            (status.endDate, status.waiters) = (now, 0)
            switch result {
            case .success(let success): (status.state, status.entryVersion) = (.succeeded, success.entry.version)
            case .failure(.cancelled): status.state = .cancelled
            case .failure(let error): (status.state, status.error) = (.failed, error)
            }
            state.ended.insert(status, now: now)
            tellEnd(of: fetch, status, result)
            let queue = fetch.takeQueue()
            guard !queue.isEmpty, !state.isStopping else {
                state.places.giveBack(1)
                return (queue, nil)
            }
            // Callers that joined an abandoned fetch are queued without a `next`. The first of them gives the request.
            var next = running.next ?? queue.waiters.min { $0.key < $1.key }?.value.caller.request ?? request
            if case .failure(.cancelled) = result {
                next.wishes.formUnion(fetch.state.withLock { $0.machine.isAbandoned ? $0.notes.wishes : EntryWishes() })
            }
            let successor = DownloadPolicy.makeFetch(next, key: key, held: nil, manager: self) { rules in
                FetchMachine(rules, following: queue)
            }
            state.running[key.text] = RunningDownload(fetch: successor)
            return (.init(), successor)
        }
        switch result {
        case .success(let success): answer(waiters, success, unpublished)
        case .failure(let error): answer(waiters, error, request, now: now)
        }
        for waiter in refused.waiters.values { waiter.caller.completion(.failure(.stopping)) }
        if let successor { lead(successor) }
    }

    /// Answers the waiters, after applying the ``EntryWishes`` of callers that joined while the cache already wrote the
    /// entry. Does not apply earlier wishes again, because this would undo changes by callers during the download.
    private func answer(_ waiters: [DownloadFetch.Waiter], _ success: DownloadResult, _ wishes: EntryWishes) {
        let answer: @Sendable ([DownloadFetch.Waiter], Entry) -> Void = { waiters, entry in
            for waiter in waiters {
                var result = success
                result.entry = entry
                if waiter.isFollower {
                    (result.outcome, result.isChange) = (.joined, !waiter.caller.request.tags.isEmpty)
                }
                waiter.caller.completion(.success(result))
            }
        }
        guard !wishes.areFulfilled(by: success.entry) else { return answer(waiters, success.entry) }
        fulfil(wishes, of: success.entry) { [self] result in
            // `nil`: the entry has just been removed. It still is the entry that the waiters waited for.
            if case .success(let changed) = result { return answer(waiters, changed ?? success.entry) }
            // The tags of all callers are too many for the entry, so each waiter's tags are added separately.
            var own = wishes
            own.tags = []
            fulfil(own, of: success.entry) { _ in }
            for waiter in waiters {
                own.tags = wishes.tags.intersection(waiter.caller.request.tags)
                fulfil(own, of: success.entry) { result in
                    switch result {
                    case .success(let changed): answer([waiter], changed ?? success.entry)
                    case .failure(let error): waiter.caller.completion(.failure(DownloadError(error)))
                    }
                }
            }
        }
    }

    /// `completion` gets the changed entry; `nil` when the entry is gone.
    private func fulfil(
        _ wishes: EntryWishes, of entry: Entry,
        completion: @escaping @Sendable (Result<Entry?, DiskCacheError>) -> Void
    ) {
        if wishes.areFulfilled(by: entry) { return completion(.success(entry)) }
        tools.cache.update(
            entry.key, addingTags: wishes.tags.sorted(), pinned: wishes.pinned,
            staleAllowance: wishes.staleAllowance, completion: completion)
    }

    private func answer(
        _ waiters: [DownloadFetch.Waiter], _ error: DownloadError, _ request: DownloadRequest, now: Timestamp
    ) {
        guard !waiters.isEmpty else { return }
        let older = try? tools.cache.entry(for: request.key.text, expectingURL: request.url.string)
        for waiter in waiters {
            if let older, error.allowsStale, let allowance = waiter.caller.request.staleIfError,
                now < older.expiryDate + allowance
            {
                tools.metrics.staleAnswers.increment()
                tools.cache.recordHit(older)
                waiter.caller.completion(.success(DownloadResult(outcome: .stale, entry: older)))
            } else {
                waiter.caller.completion(.failure(error))
            }
        }
    }

    private func count(_ result: Result<DownloadResult, DownloadError>, elapsed: Duration) {
        // No transfer has run, and very many refusals may follow one another.
        if case .failure(.hostPaused) = result { return tools.metrics.paused.increment() }
        tools.metrics.downloadDurations.record(elapsed)
        switch result {
        case .success(let success) where success.outcome == .revalidated: tools.metrics.revalidated.increment()
        case .success(let success) where success.outcome == .downloaded: tools.metrics.downloaded.increment()
        case .success: break
        case .failure(.cancelled): tools.metrics.cancelled.increment()
        case .failure: tools.metrics.failed.increment()
        }
    }

    /// Warns about a download that failed, with its URL and the cause. Neither a cancellation nor the end of the server
    /// is a failure. The pause of a host has a line of its own, and may refuse very many downloads. A request that is
    /// refused at once starts no download, so it leaves no line in the log.
    private func warn(about fetch: DownloadFetch, _ error: DownloadError) {
        var metadata: Logger.Metadata = [
            "url": .string(LoggedURL.text(of: fetch.policy.request.url.string)), "key": .string(fetch.policy.key.text),
            "reason": .string(error.description), "seconds": .seconds(fetch.policy.elapsed),
        ]
        switch error {
        case .cancelled, .stopping, .hostPaused: return
        case .originStatus(let status, _): metadata["originStatus"] = .number(status)
        case .transferFailed(let code, _), .timedOut(let code, _), .tooLarge(let code, _):
            if code != 0 { metadata["curlCode"] = .number(code) }
        default: break
        }
        logger.warning("download failed", metadata: metadata)
    }
}
