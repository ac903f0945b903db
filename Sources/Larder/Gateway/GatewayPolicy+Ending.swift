import DiskCache
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

/// Storing the answer, and answering the clients.
extension GatewayPolicy {
    func store(_ summary: OriginSummary, for fetch: GatewayFetch) {
        fetch.tools.metrics.downloaded.increment()
        let (notes, reservation) = fetch.state.withLock { ($0.notes, $0.reservation) }
        // RFC 9112 §8: an empty body that ends with the connection comes more likely from a server that died than from
        // an empty resource. It is passed on and not kept, like a part with another length than its range.
        guard let stored = notes.stored, let reservation, summary.byteCount > 0 || summary.framing.isFramed,
            stored.part.map({ Int64($0.count) == summary.byteCount }) ?? true
        else {
            notes.flow?.complete()
            fetch.stopKeeping()
            return fetch.handle(.stored)
        }
        fetch.noteWholeAnswer()
        notes.flow?.complete()
        let (start, end) = (notes.requestedAt, fetch.tools.clock.now())
        let metadata = leader.metadata(of: stored, from: start, to: end)
        // The old answer is newer if its request was sent later. But if that time is in the future, the clock was set
        // back, and this answer counts as the newest.
        let isNewest: @Sendable (Entry?) -> Bool = { old in
            old?.downloadStartDate.map { $0 <= start || $0 > end } ?? true
        }
        reservation.publish(metadata, expectedLength: summary.byteCount, condition: isNewest) { result in
            fetch.handle(.stored)
            // Adds the tags of calls that joined while the entry was being published.
            if case .success(.stored(let entry)) = result {
                gateway.unite(fetch.state.withLock(\.notes.tags).subtracting(notes.tags), with: [entry])
            }
        }
    }

    func refresh(for fetch: GatewayFetch) { refresh(fetch, isRetry: false) }

    private func refresh(_ fetch: GatewayFetch, isRetry: Bool) {
        let (notes, head, reservation) = fetch.state.withLock { ($0.notes, $0.head, $0.reservation) }
        guard var held = notes.held, let head, let reservation else { return fetch.handle(.broke(.stopping)) }
        let answer = OriginAnswer(
            status: head.status, fields: head.fields.endToEnd(), requestedAt: notes.requestedAt,
            receivedAt: fetch.tools.clock.now())
        let validators = Validators(held.head.fields)
        guard held.head.isConfirmed(by: answer.fields) else {
            if leader.mayWait { gateway.learn(of: leader, isValidation: true, isShareable: false, isKept: true) }
            return fetch.handle(.refreshed(.changed))
        }
        if !isRetry { fetch.tools.metrics.revalidated.increment() }
        let reason = held.update(from: answer, answer.with(head.fields), for: leader.cacheRequest)
        fetch.state.withLock { state in
            (state.notes.held, state.notes.arrived) = (held, ArrivedAnswer(answer: answer, head: head))
        }
        // If a reason forbids storing the 304, the 304 is for the leader alone: no other client may see its fields.
        if leader.mayWait {
            gateway.learn(of: leader, isValidation: true, isShareable: reason == nil, isKept: true)
        }
        guard reason == nil else { return fetch.handle(.refreshed(.notKept(isForAll: false))) }
        reservation.decide(CacheKey(held.entry.key) ?? reservation.key, tags: CacheGroups(held.entryHead.fields).names)
        let refresh = leader.refresh(
            of: held.entry, held.entryHead, from: notes.requestedAt, to: fetch.tools.clock.now())
        reservation.publishUnchanged(held.entry, refresh) { result in
            switch result {
            case .success(.stored(let entry)):
                fetch.handle(.refreshed(.stored)) { $0.notes.held = $0.notes.held?.refreshed(entry) }
                gateway.unite(fetch.state.withLock(\.notes.tags).subtracting(notes.tags), with: [entry])
            case .failure(.versionChanged) where isRetry: fetch.handle(.refreshed(.changed))
            case .failure(.versionChanged): gateway.queue.async { refreshCopy(with: validators, fetch) }
            case .success(.notKept), .failure: fetch.handle(.refreshed(.notKept(isForAll: true)))
            }
        }
    }

    /// Refreshes the response that has replaced the held one, if both have the same validators, which the 304 confirms.
    private func refreshCopy(with validators: Validators, _ fetch: GatewayFetch) {
        gateway.lookUp(leader) { found in
            guard let copy = found.selected, copy.head.part == nil, Validators(copy.head.fields) == validators else {
                return fetch.handle(.refreshed(.changed))
            }
            fetch.state.withLock { $0.notes.held = copy }
            refresh(fetch, isRetry: true)
        }
    }

    func deliver(_ outcome: GatewayFetch.Outcome, to waiters: [GatewayFetch.Waiter], for fetch: GatewayFetch) {
        switch outcome {
        case .arrived: passOnArrived(to: waiters, fetch)
        case .impatient: release(waiters, fetch)
        case .overtaken: passOnEarlier(to: waiters, fetch)
        case .found, .stale, .stored, .confirmed, .failed: break
        }
    }

    /// Gives the waiters the answer of `overtaker`, another fetch that got its answer before this fetch.
    private func passOnEarlier(to waiters: [GatewayFetch.Waiter], _ fetch: GatewayFetch) {
        let overtaker = fetch.state.withLock { $0.notes.overtaker.take() }
        for caller in waiters.map(\.caller) {
            if case .reads(let shared, let newcomer)? = overtaker?.admit(caller, isWaiter: true) {
                withExtendedLifetime(newcomer) { caller.join(shared, now: fetch.tools.clock.now()) }
            } else {
                gateway.dispatch(caller)
            }
        }
    }

    func end(_ outcome: GatewayFetch.Outcome, for waiters: [GatewayFetch.Waiter], of fetch: GatewayFetch) {
        gateway.remove(fetch)
        let awaiting = fetch.state.withLock { state in
            defer { state.notes.awaitsStoring = [] }
            return state.notes.awaitsStoring
        }
        for call in awaiting { gateway.dispatch(call) }
        switch outcome {
        case .found: for waiter in waiters { gateway.dispatch(waiter.caller) }
        case .stale: failOver(waiters, fetch)
        case .confirmed(let refresh): passOnConfirmed(to: waiters, refresh, fetch)
        case .failed(let error): fail(waiters, error, fetch)
        case .stored, .arrived, .impatient, .overtaken: break
        }
    }

    private func passOnArrived(to waiters: [GatewayFetch.Waiter], _ fetch: GatewayFetch) {
        let (notes, reservation) = fetch.state.withLock { ($0.notes, $0.reservation) }
        guard let arrived = notes.arrived, let flow = notes.flow else { return }
        let now = fetch.tools.clock.now()
        // A purge may have come before the head showed that the purge matches this answer. A follower may have asked
        // after that purge, so it must not get this older answer.
        let shared = reservation?.isPurged == true ? nil : notes.shared
        let isWhole = leader.asksForWhole(isValidating: notes.isValidating, isShared: isShared)
        for waiter in waiters {
            if !waiter.isFollower {
                waiter.caller.answer(arrived, flow: flow, judgesRange: isWhole, now: now)
            } else if let shared, waiter.caller.mayHaveAsWaiter(shared.head, now: now) {
                waiter.caller.join(shared, now: now)
            } else {
                gateway.sendBack(waiter.caller)
            }
        }
        // The client that caused the fetch has left. If the answer is not kept, the machine cancels the fetch.
        if arrived.kept != nil, !waiters.contains(where: { !$0.isFollower }) { flow.dismiss() }
    }

    /// Gives followers that have waited long enough for the head a stale copy, as if the origin were unreachable. The
    /// followers that may not have the copy wait for a new fetch, which one of them starts.
    private func release(_ waiters: [GatewayFetch.Waiter], _ fetch: GatewayFetch) {
        let held = fetch.state.withLock(\.notes.held)
        let now = fetch.tools.clock.now()
        let callers = waiters.map(\.caller).filter { !serveStale(held, to: $0, after: .unreachable, now: now) }
        fetch.state.withLock { $0.notes.released += callers }
        for caller in callers { gateway.dispatch(caller) }
    }

    /// Serves the held response in place of an answer, if the call may have it. Returns whether it was served.
    private func serveStale(
        _ held: HeldResponse?, to call: GatewayCall, after failure: OriginFailure, now: Timestamp
    ) -> Bool {
        guard let held, call.mayHaveStale(held, onError: failure, now: now) else { return false }
        gateway.serve(held, to: call, as: .staleAfter(failure))
        return true
    }

    private func failOver(_ waiters: [GatewayFetch.Waiter], _ fetch: GatewayFetch) {
        let (held, head) = fetch.state.withLock { ($0.notes.held, $0.head) }
        guard let head else { return }
        let now = fetch.tools.clock.now()
        for waiter in waiters where !serveStale(held, to: waiter.caller, after: .status(head.status), now: now) {
            gateway.goAlone(waiter.caller)
        }
    }

    /// Serves the confirmed response to every waiter that may have it. Only the client that caused the request gets the
    /// cookies of the 304 (RFC 9111 §7.3).
    ///
    /// A follower asked before the origin confirmed the response, so it may use the response even if `no-cache` or the
    /// expiry date forbids this for later requests. A follower after the head of the 304 counts as a later request.
    private func passOnConfirmed(
        to waiters: [GatewayFetch.Waiter], _ refresh: GatewayFetch.Machine.Refresh, _ fetch: GatewayFetch
    ) {
        let (held, notModified) = fetch.state.withLock { ($0.notes.held, $0.notes.arrived?.answer) }
        guard let held, let notModified else { return }
        let (isStored, isForAll) =
            switch refresh {
            case .stored: (true, true)
            case .notKept(let isForAll): (false, isForAll)
            case .changed: (false, false)
            }
        let now = fetch.tools.clock.now()
        for waiter in waiters {
            if !waiter.isFollower {
                let own = held.settingCookies(of: notModified.fields)
                gateway.serve(own, to: waiter.caller, as: .revalidated(isStored: isStored))
            } else if isForAll,
                waiter.isAfterHead
                    ? waiter.caller.mayHave(held.head, now: now) : waiter.caller.mayHaveConfirmed(held, now: now)
            {
                gateway.serve(held, to: waiter.caller, as: .revalidated(isStored: isStored))
            } else {
                gateway.sendBack(waiter.caller)
            }
        }
        guard isForAll else { return }
        // Callers that waited for this 304 until the time limit get the response, too, without a new validation.
        let released = fetch.state.withLock(\.notes.released)
        for caller in released where caller.mayHaveConfirmed(held, now: now) && caller.stopFollowing() {
            gateway.serve(held, to: caller, as: .revalidated(isStored: isStored))
        }
        gateway.overtakeOthers(fetch) { $0.mayHave(held.head, now: $1) }
    }

    private func fail(_ waiters: [GatewayFetch.Waiter], _ error: DownloadError, _ fetch: GatewayFetch) {
        fetch.tools.metrics.failed.increment()
        let (held, released) = fetch.state.withLock { ($0.notes.held, $0.notes.released) }
        let now = fetch.tools.clock.now()
        // The fetch was cancelled when no client waited for it, but these followers joined at the same moment.
        for waiter in waiters where error == .cancelled && waiter.isFollower { gateway.sendBack(waiter.caller) }
        let callers = waiters.filter { error != .cancelled || !$0.isFollower }.map(\.caller)
        for caller in callers + (error.allowsStale ? released.filter { $0.stopFollowing() } : []) {
            if error.allowsStale, serveStale(held, to: caller, after: .unreachable, now: now) {
                continue
            } else if let held, error.allowsStale, held.head.freshness.forbidsStale {
                caller.fail(.cannotValidate(error))
            } else {
                caller.fail(.origin(error))
            }
        }
    }
}
