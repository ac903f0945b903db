import DiskCache
import Primitives

extension DownloadManager {
    /// A flight has ended: everyone who waits gets the answer that is theirs, and those who must not have this one get
    /// a flight of their own.
    func land(_ flight: Flight, with result: Result<DownloadResult, DownloadError>) {
        let key = flight.key.text
        let now = tools.clock.now()
        count(result, elapsed: flight.elapsed)
        if case .failure(let error) = result { warn(about: flight, error) }
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
            tellEnd(of: flight, status, result)
            var (waiters, later, next) = (running.waiters, running.later, running.next)
            if case .failure(.cancelled) = result, running.isGivenUp {
                // They have come since, and know nothing of that.
                later.merge(waiters) { first, _ in first }
                next = next ?? waiters.values.first?.request ?? (running.goesOnAlone ? flight.request : nil)
                waiters = [:]
            }
            guard let next, !state.isStopping else {
                state.places.giveBack(1)
                return (Array(waiters.values), Array(later.values), nil)
            }
            let successor = makeFlight(next, flight.key)
            state.running[key] = Running(flight: successor, waiters: later, goesOnAlone: running.goesOnAlone)
            return (Array(waiters.values), [], successor)
        }
        switch result {
        case .success(let success): answer(waiters, success)
        case .failure(let error): answer(waiters, error, flight: flight, now: now)
        }
        for waiter in refused { waiter.completion(.failure(.stopping)) }
        if let successor { lead(successor, held: nil) }
    }

    private func answer(_ waiters: [Waiter], _ success: DownloadResult) {
        let answer: @Sendable ([Waiter], Entry) -> Void = { waiters, entry in
            for waiter in waiters {
                var result = success
                result.entry = entry
                if waiter.joined { (result.outcome, result.isChange) = (.joined, !waiter.request.tags.isEmpty) }
                waiter.completion(.success(result))
            }
        }
        // Tags of one who joined when the entry was being written already are added now.
        let missing = waiters.reduce(into: Set<String>()) { $0.formUnion($1.request.tags) }
            .subtracting(success.entry.tags)
        guard !missing.isEmpty else { return answer(waiters, success.entry) }
        addTags(missing, to: success.entry) { [self] result in
            // Removed in this very moment, it is still what they waited for.
            if case .success(let changed) = result { return answer(waiters, changed ?? success.entry) }
            // Those of all together do not go: each for itself, so that nobody fails for another's.
            for waiter in waiters {
                addTags(waiter.request.tags.subtracting(success.entry.tags), to: success.entry) { result in
                    switch result {
                    case .success(let changed): answer([waiter], changed ?? success.entry)
                    case .failure(let error): waiter.completion(.failure(DownloadError(error)))
                    }
                }
            }
        }
    }

    /// - Parameter completion: gets the entry with them; `nil` when it is gone.
    private func addTags(
        _ tags: Set<String>, to entry: Entry,
        completion: @escaping @Sendable (Result<Entry?, DiskCacheError>) -> Void
    ) {
        if tags.isEmpty { return completion(.success(entry)) }
        tools.cache.update(entry.key, addingTags: tags.sorted(), completion: completion)
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
