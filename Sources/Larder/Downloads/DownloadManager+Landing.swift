import DiskCache
import Primitives

extension DownloadManager {
    /// A flight has ended: everyone who waits gets the answer that is theirs, and those who must not have this one get
    /// a flight of their own.
    func land(_ flight: Flight, with result: Result<DownloadResult, DownloadError>) {
        let key = flight.key.text
        let now = tools.clock.now()
        count(result, elapsed: flight.elapsed)
        let (waiters, refused, successor) = state.withLock { state -> ([Waiter], [Waiter], Flight?) in
            guard let running = state.running.removeValue(forKey: key) else { return ([], [], nil) }
            var status = Self.status(key: key, of: flight, waiters: 0)
            status.endDate = now
            switch result {
            case .success(let success): (status.state, status.entryVersion) = (.succeeded, success.entry.version)
            case .failure(.cancelled): status.state = .cancelled
            case .failure(let error): (status.state, status.error) = (.failed, error)
            }
            state.ended.insert(status, now: now)
            let waiters = Array(running.waiters.values)
            guard let next = running.next, !state.isStopping else {
                state.places.giveBack(1)
                return (waiters, Array(running.later.values), nil)
            }
            let successor = makeFlight(next, flight.key)
            state.running[key] = Running(flight: successor, waiters: running.later)
            return (waiters, [], successor)
        }
        switch result {
        case .success(let success): answer(waiters, success)
        case .failure(let error): answer(waiters, error, flight: flight, now: now)
        }
        for waiter in refused { waiter.completion(.failure(.stopping)) }
        if let successor { lead(successor, held: nil) }
    }

    private func answer(_ waiters: [Waiter], _ success: DownloadResult) {
        let answer: @Sendable (Entry, DownloadError?) -> Void = { entry, error in
            let held = Set(entry.tags)
            for waiter in waiters {
                if let error, !waiter.request.tags.isSubset(of: held) {
                    waiter.completion(.failure(error))
                    continue
                }
                var result = success
                result.entry = entry
                if waiter.joined { (result.outcome, result.isChange) = (.joined, !waiter.request.tags.isEmpty) }
                waiter.completion(.success(result))
            }
        }
        // Tags of one who joined when the entry was being written already are added now.
        let missing = waiters.reduce(into: Set<String>()) { $0.formUnion($1.request.tags) }
            .subtracting(success.entry.tags)
        guard !missing.isEmpty else { return answer(success.entry, nil) }
        tools.cache.update(success.entry.key, addingTags: missing.sorted()) { result in
            switch result {
            // Removed in this very moment, it is still what they waited for.
            case .success(let changed): answer(changed ?? success.entry, nil)
            // Who was promised nothing more than what is there has it.
            case .failure(let error): answer(success.entry, DownloadError(error))
            }
        }
    }

    private func answer(_ waiters: [Waiter], _ error: DownloadError, flight: Flight, now: Timestamp) {
        guard !waiters.isEmpty else { return }
        let older = try? tools.cache.entry(for: flight.key.text, expectingURL: flight.request.url.string)
        for waiter in waiters {
            if let older, error.allowsStale, let allowance = waiter.request.staleIfError,
                now < older.expiryDate + allowance
            {
                tools.metrics.staleAnswers.increment()
                tools.cache.recordHit(older)
                waiter.completion(.success(DownloadResult(outcome: .stale, entry: older)))
            } else {
                waiter.completion(.failure(error))
            }
        }
    }

    private func count(_ result: Result<DownloadResult, DownloadError>, elapsed: Duration) {
        tools.metrics.downloadDurations.record(elapsed)
        switch result {
        case .success(let success) where success.outcome == .revalidated: tools.metrics.revalidated.increment()
        case .success(let success) where success.outcome == .downloaded: tools.metrics.downloaded.increment()
        case .success: break
        case .failure(.cancelled): tools.metrics.cancelled.increment()
        case .failure: tools.metrics.failed.increment()
        }
    }
}
