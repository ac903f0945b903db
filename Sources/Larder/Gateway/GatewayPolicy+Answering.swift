import DiskCache
import Dispatch
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

/// The answer on its way from the origin to the clients.
extension GatewayPolicy {
    func didReceive(_ bytes: UnsafeRawBufferPointer, for fetch: GatewayFetch) throws {
        let (reservation, flow): (Reservation?, BodyFlow?) = fetch.state.withLock { state in
            guard let flow = state.notes.flow else {
                state.notes.early += bytes
                state.obey(.pause)
                return (nil, nil)
            }
            return (state.notes.stored == nil ? nil : state.reservation, flow)
        }
        if let flow { take(bytes, reservation, flow, fetch) }
    }

    private func take(
        _ bytes: UnsafeRawBufferPointer, _ reservation: Reservation?, _ flow: BodyFlow, _ fetch: GatewayFetch
    ) {
        if let reservation {
            do {
                try reservation.receive(bytes)
            } catch {
                // Only keeping ends. The readers still get the rest of the body.
                fetch.stopKeeping()
                flow.stopKeeping()
            }
        }
        let (length, isUnsent) = fetch.state.withLock { ($0.head?.declaredLength, $0.notes.isUnsent) }
        let isWhole = length.map { flow.receivedCount + Int64(bytes.count) >= $0 } ?? false
        // Does not note an answer that no client has yet; `passOn` notes it.
        if isWhole, !isUnsent, reservation != nil { fetch.noteWholeAnswer() }
        flow.receive(bytes)
        if isWhole { passOn(fetch) }
    }

    func didPause(for fetch: GatewayFetch) {
        passOn(fetch)
    }

    func willEnd(isBroken: Bool, for fetch: GatewayFetch) {
        passOn(fetch, isBroken: isBroken)
    }

    func breakOff(for fetch: GatewayFetch) {
        fetch.state.withLock(\.notes.flow)?.fail()
        fetch.stopKeeping()
    }

    /// Begins the answer: decides whether it is kept, creates the flow, and passes the answer on, at once or later with
    /// a short body. `isOnItsWay`: whether the origin client will certainly report bytes, a pause or the end from now
    /// on. After an invalidation, it may have reported the end already.
    func begin(_ fetch: GatewayFetch, isOnItsWay: Bool = false) {
        guard var arrived = fetch.state.withLock(\.notes.arrived) else { return }
        let (answer, head) = (arrived.answer, arrived.head)
        let (stored, pass) = keep(answer, head, fetch)
        let reservation = stored == nil ? nil : fetch.state.withLock(\.reservation)
        let afterGrace: @Sendable (@escaping @Sendable () -> Void) -> Void = { [queue = gateway.queue] look in
            queue.asyncAfter(deadline: .now() + BodyFlow.grace.inSeconds, execute: look)
        }
        let flow = BodyFlow(
            kept: reservation?.body, room: gateway.group.tailRoom, afterGrace: afterGrace
        ) { [weak fetch] demand in
            fetch?.obey(demand)
            // `fetch` is weak: its policy holds the cache, which a reader of a removed namespace must not keep alive.
            if let fetch, demand == .pause { fetch.policy.watchForStandstill(fetch) }
        }
        arrived.pass = pass
        if let stored, let reservation {
            arrived.kept = SharedAnswer(
                head: stored, key: reservation.key.text, flow: flow, length: head.declaredLength)
        }
        // The early bytes go first. The flow becomes visible to the origin's thread in the same step that finds no
        // early bytes left; until then, that thread only adds to `early`. So a single thread at a time delivers bytes
        // to the reservation, and later bytes and the end cannot overtake the early bytes.
        while true {
            let early: [UInt8]? = fetch.state.withLock { state in
                guard state.notes.early.isEmpty else {
                    defer { state.notes.early = [] }
                    return state.notes.early
                }
                state.notes.flow = flow
                (state.notes.arrived, state.notes.isUnsent) = (arrived, true)
                // Keeping has ended while the early bytes were stored.
                if state.notes.stored == nil { state.notes.arrived?.kept = nil }
                state.obey(.resume)
                return nil
            }
            guard let early else { break }
            early.withUnsafeBytes { take($0, reservation, flow, fetch) }
        }
        // A short body usually arrives with its head. Sending both together saves a packet and a wake-up.
        let isShort = head.declaredLength.map { (1...Int64(BodyFlow.lengthAtOnce)).contains($0) } ?? false
        if !isOnItsWay || !isShort || head.framing != .length { passOn(fetch) }
    }

    /// Gives the clients the answer, if it is known and they do not have it.
    ///
    /// The answer becomes visible to other calls before any client has it, so a later request gets no older response.
    /// If `isBroken`, the body will never be whole, and only the client that caused the fetch gets the answer.
    private func passOn(_ fetch: GatewayFetch, isBroken: Bool = false) {
        let arrived: ArrivedAnswer? = fetch.state.withLock { state in
            guard state.notes.isUnsent else { return nil }
            state.notes.isUnsent = false
            return state.notes.arrived
        }
        guard let arrived else { return }
        // The waiters get the answer one by one. The `Newcomer` keeps the fetch until all waiters have the answer.
        let newcomers = arrived.kept.map { BodyFlow.Newcomer($0.flow) }
        defer { withExtendedLifetime(newcomers) {} }
        // Learns whether similar calls can share an answer, but not from an answer for the leader alone. A 304 or 412
        // counts only if other calls could wait for it and the origin got the leader's conditions.
        let isValidating = fetch.state.withLock(\.notes.isValidating)
        if leader.mayWait, leader.isKeepable,
            ![304, 412].contains(arrived.answer.status)
                || (isShared && !leader.asksForWhole(isValidating: isValidating, isShared: true))
        {
            let (kept, now) = (arrived.kept?.head, fetch.tools.clock.now())
            gateway.learn(
                of: leader, isValidation: isValidating,
                isShareable: kept.map { leader.isFit($0, now: now) } ?? false, isKept: kept != nil)
            if arrived.answer.status == 200, leader.sendsRange(isValidating: isValidating, isShared: isShared) {
                gateway.learnOfIgnoredRange(in: leader)
            }
        }
        let shared = isBroken ? nil : arrived.kept
        // The table gets the head before the phase changes, so that a call in the new phase finds the answer.
        gateway.noteHead(shared?.head, of: fetch)
        // Asks the flow before taking the fetch's lock, because the flow's lock comes first.
        let isWhole = shared.map { $0.flow.hasAll(of: $0.length) } ?? false
        let (actions, isOpen, isFirst) = fetch.state.withLock { state in
            let actions = state.machine.handle(
                .began(isKept: shared != nil, isOpen: shared != nil && state.demand != .cancel))
            let isOpen = state.machine.isOpen
            state.notes.shared = isOpen ? shared : nil
            if isBroken { state.notes.arrived?.kept = nil }
            return (actions, isOpen, isOpen && isWhole && fetch.note(&state))
        }
        if isFirst { gateway.group.leave(fetch) }
        if !isOpen, shared != nil { gateway.noteHead(nil, of: fetch) }
        fetch.perform(actions)
        guard isOpen, let shared else { return }
        gateway.overtakeOthers(fetch) {
            $0.mayHaveAsWaiter(shared.head, now: $1) && !$0.isFarAhead(of: shared, now: $1)
        }
    }

    /// Cancels the fetch if the upload and the answer block each other.
    ///
    /// libmicrohttpd sends no answer before it has the whole request. So an origin that sends a long answer before it
    /// has read the request waits for ever: neither side reads. The check repeats every `patience` until the body has a
    /// reader. It cancels the fetch when uploaded bytes wait and the origin took none since the last check.
    private func watchForStandstill(_ fetch: GatewayFetch) {
        guard let pipe = leader.request.upload else { return }
        let before = pipe.progress
        gateway.queue.asyncAfter(deadline: .now() + gateway.patience.inSeconds) { [weak fetch] in
            guard let fetch, fetch.state.withLock(\.notes.flow)?.hasBeenRead == false else { return }
            let now = pipe.progress
            if now.waiting > 0, now.taken == before.taken {
                fetch.cancel()
            } else {
                watchForStandstill(fetch)
            }
        }
    }

    /// Decides whether the answer is kept. Returns the response to store, or the reason for not storing it. Both are
    /// `nil` when there is no reservation, and when the cache fails for a reason that does not concern the client.
    private func keep(
        _ answer: OriginAnswer, _ head: OriginHead, _ fetch: GatewayFetch
    ) -> (StoredResponse?, PassReason?) {
        guard let reservation = fetch.state.withLock(\.reservation) else { return (nil, nil) }
        // ``StoragePolicy`` sees all fields, because a directive counts even when `Connection` names its field.
        let isWhole = answer.hasAll(of: head.fields)
        switch StoragePolicy.decide(leader.cacheRequest, isWhole ? answer : answer.with(head.fields)) {
        case .pass(let reason): return (nil, reason)
        case .store(var stored):
            if !isWhole { stored.take(endToEnd: answer.fields) }
            guard stored.isText(within: Gateway.headLimit) else { return (nil, .tooLarge) }
            reservation.decide(
                .response(to: leader.url, variant: stored.variantText), tags: CacheGroups(answer.fields).names)
            do {
                if let length = head.declaredLength { try reservation.expect(length: length) }
            } catch {
                return (nil, PassReason(error))
            }
            fetch.state.withLock { $0.notes.stored = stored }
            return (stored, nil)
        }
    }
}

extension OriginAnswer {
    /// Whether the answer has exactly the received fields: no field was for one hop only, and no Date had to be added.
    fileprivate func hasAll(of fields: HTTPFields) -> Bool {
        self.fields.count == fields.count && fields.contains(.date)
    }

    func with(_ fields: HTTPFields) -> OriginAnswer {
        var answer = self
        answer.fields = fields
        return answer
    }
}

extension PassReason {
    /// The reason for not keeping a body; `nil` for an error that does not concern the client.
    fileprivate init?(_ error: DiskCacheError) {
        switch error {
        case .entryTooLarge: self = .tooLarge
        case .noSpace: self = .noRoom
        default: return nil
        }
    }
}
