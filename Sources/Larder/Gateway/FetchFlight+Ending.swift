import DiskCache
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

/// The end of a flight.
extension FetchFlight {
    func complete(_ summary: OriginSummary, _ flow: BodyFlow?) {
        tools.metrics.downloaded.increment()
        let (stored, reservation, requestedAt) = state.withLock { state in
            (state.stored, state.reservation, state.requestedAt)
        }
        // RFC 9112 §8: a body that ends with the connection and has no byte comes more likely from a server that died
        // than from an empty resource. Such a body is passed on and not kept. A part whose length differs from its
        // range is not kept either.
        guard let stored, let reservation, summary.byteCount > 0 || summary.framing.isFramed,
            stored.part.map({ Int64($0.count) == summary.byteCount }) ?? true
        else {
            flow?.complete()
            stopKeeping()
            return end()
        }
        noteWholeAnswer()
        flow?.complete()
        let metadata = leader.metadata(of: stored, from: requestedAt, to: tools.clock.now())
        reservation.publish(metadata, expectedLength: summary.byteCount) { [self] result in
            end()
            // Adds the tags of calls that joined while the entry was being published.
            if case .success(.stored(let entry)) = result { gateway.unite(state.withLock(\.tags), with: [entry]) }
        }
    }

    func confirm() {
        let (held, head, reservation, requestedAt) = state.withLock { state in
            (state.held, state.head, state.reservation, state.requestedAt)
        }
        guard var held, let head, let reservation else { return fail(.stopping) }
        let answer = OriginAnswer(
            status: head.status, fields: head.fields.endToEnd(), requestedAt: requestedAt,
            receivedAt: tools.clock.now())
        guard held.head.isConfirmed(by: answer.fields) else { return fetchWhole() }
        tools.metrics.revalidated.increment()
        if held.update(from: answer, answer.with(head.fields), for: leader.cacheRequest) != nil {
            // The 304 is for this request only: the stored response stays unchanged, and no other client may see the
            // fields of the 304.
            if leader.mayWait { gateway.learn(of: leader, isShareable: false) }
            return land(held, with: answer, isStored: false, isForAll: false)
        }
        let confirmed = held
        reservation.decide(
            CacheKey(confirmed.entry.key) ?? reservation.key, tags: CacheGroups(confirmed.entryHead.fields).names)
        let refresh = leader.refresh(
            of: confirmed.entry, confirmed.entryHead, from: requestedAt, to: tools.clock.now())
        reservation.publishUnchanged(confirmed.entry, refresh) { [self] result in
            switch result {
            case .success(.stored(let entry)):
                land(confirmed.refreshed(entry), with: answer, isStored: true)
            case .failure(.versionChanged): fetchWhole()
            case .success(.notKept), .failure:
                land(confirmed, with: answer, isStored: false)
            }
        }
    }

    /// Ends a flight that was about to depart when its answer turned out to be in the cache. The gateway decides about
    /// all waiters anew.
    func land() {
        let waiters = takeWaiters()
        end()
        for waiter in waiters { gateway.dispatch(waiter.call) }
    }

    /// Serves the confirmed response to every waiter that may have it. The cookies of the 304 are for the leader alone
    /// (RFC 9111 §7.3), because the 304 answers its request.
    private func land(
        _ confirmed: HeldResponse, with notModified: OriginAnswer, isStored: Bool, isForAll: Bool = true
    ) {
        let waiters = takeWaiters()
        end()
        let now = tools.clock.now()
        for waiter in waiters {
            if !waiter.isFollower {
                let own = confirmed.settingCookies(of: notModified.fields)
                gateway.serve(own, to: waiter.call, as: .revalidated(isStored: isStored))
            } else if isForAll, waiter.call.mayHave(confirmed.head, now: now) {
                gateway.serve(confirmed, to: waiter.call, as: .revalidated(isStored: isStored))
            } else {
                gateway.sendBack(waiter.call)
            }
        }
    }

    /// Asks the origin again, without validators, because the confirmed response is not the held response any more. The
    /// phase goes back to `waiting`. The flight reserves anew, and followers whose patience ended meanwhile are
    /// released.
    private func fetchWhole() {
        state.withLock(\.reservation)?.abandon()
        let isPatienceOver = state.withLock { state in
            (state.held, state.head, state.phase) = (nil, nil, .waiting)
            state.transfer = nil
            if state.demand != .cancel { state.demand = nil }
            return state.isPatienceOver
        }
        if isPatienceOver { releaseFollowers() }
        reserve()
        depart()
    }

    func fail(_ error: DownloadError) {
        tools.metrics.failed.increment()
        let held = state.withLock(\.held)
        let waiters = takeWaiters()
        end()
        let now = tools.clock.now()
        for waiter in waiters {
            if error == .cancelled, waiter.isFollower {
                // The flight was cancelled when no client waited for it, but this follower joined in that moment.
                gateway.sendBack(waiter.call)
            } else if let held, error.allowsStale,
                waiter.call.mayHaveStale(held, onError: .unreachable, now: now)
            {
                gateway.serve(held, to: waiter.call, as: .staleAfter(.unreachable))
            } else if let held, error.allowsStale, held.head.freshness.forbidsStale {
                waiter.call.fail(.cannotValidate(error))
            } else {
                waiter.call.fail(.origin(error))
            }
        }
    }

    private func takeWaiters() -> [Waiter] {
        state.withLock { state in
            defer { state.waiters = [] }
            state.phase = .ended
            return state.waiters
        }
    }

    /// Ends keeping: other calls no longer find this answer here, and the answer is not stored.
    func stopKeeping() {
        let (reservation, flow) = state.withLock { state in
            if case .answered = state.phase { state.phase = .answered(nil) }
            state.stored = nil
            return (state.reservation, state.flow)
        }
        gateway.noteHead(nil, of: self)
        flow?.stopKeeping()
        reservation?.abandon()
    }

    func end() {
        let reservation = state.withLock { state in
            state.phase = .ended
            defer { state.reservation = nil }
            return state.reservation
        }
        reservation?.abandon()
        gateway.remove(self)
    }
}
