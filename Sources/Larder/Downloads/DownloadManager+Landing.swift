import DiskCache
import Primitives

extension DownloadManager {
    /// Takes a flight that has ended out of `running`, and answers its waiters. Waiters that must not have this result
    /// wait for a flight that follows at once and keeps the place in `places`. When the server is stopping, no flight
    /// follows, and they get ``DownloadError/stopping``.
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
                // The flight was given up before these waiters joined. They do not know of the cancellation, so they
                // get the next flight.
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
        case .success(let success): answer(waiters, success, published: flight.published)
        case .failure(let error): answer(waiters, error, flight: flight, now: now)
        }
        for waiter in refused { waiter.completion(.failure(.stopping)) }
        if let successor { lead(successor, held: nil) }
    }

    /// - Parameter published: the wishes that the entry has already, unless a caller has changed the entry since.
    private func answer(_ waiters: [Waiter], _ success: DownloadResult, published: EntryWishes) {
        let answer: @Sendable ([Waiter], Entry) -> Void = { waiters, entry in
            for waiter in waiters {
                var result = success
                result.entry = entry
                if waiter.joined { (result.outcome, result.isChange) = (.joined, !waiter.request.tags.isEmpty) }
                waiter.completion(.success(result))
            }
        }
        // Fulfils the wishes of waiters that joined when the entry was already being written. The earlier wishes are
        // not repeated, because they would undo a change by a caller during the download.
        let wishes = waiters.reduce(into: EntryWishes()) { $0.formUnion($1.request.wishes.subtracting(published)) }
        guard !wishes.areFulfilled(by: success.entry) else { return answer(waiters, success.entry) }
        fulfil(wishes, of: success.entry) { [self] result in
            // The entry was removed in this very moment, but it still is the entry that the waiters waited for.
            if case .success(let changed) = result { return answer(waiters, changed ?? success.entry) }
            // The entry cannot take the tags of all waiters together. The wishes of each waiter are fulfilled on their
            // own, so that no waiter fails because of the tags of another waiter.
            for waiter in waiters {
                fulfil(waiter.request.wishes.subtracting(published), of: success.entry) { result in
                    switch result {
                    case .success(let changed): answer([waiter], changed ?? success.entry)
                    case .failure(let error): waiter.completion(.failure(DownloadError(error)))
                    }
                }
            }
        }
    }

    /// - Parameter completion: gets the changed entry; `nil` when the entry is gone.
    private func fulfil(
        _ wishes: EntryWishes, of entry: Entry,
        completion: @escaping @Sendable (Result<Entry?, DiskCacheError>) -> Void
    ) {
        if wishes.areFulfilled(by: entry) { return completion(.success(entry)) }
        tools.cache.update(
            entry.key, addingTags: wishes.tags.sorted(), pinned: wishes.pinned,
            staleAllowance: wishes.staleAllowance, completion: completion)
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
