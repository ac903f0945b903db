import DiskCache
import Dispatch
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

/// The calls of the origin client.
extension FetchFlight: OriginReceiver {
    func originDidAnswerInterim(_ head: OriginHead) {
        // Only the leader gets interim responses, because it is not known yet whether other clients may use this
        // answer.
        leader.interim(head.status, head.fields.endToEnd())
    }

    func originDidAnswer(_ head: OriginHead) {
        let (held, isValidating, requestedAt) = state.withLock { state in
            state.head = head
            return (state.held, state.isValidating, state.requestedAt)
        }
        let answer = OriginAnswer(
            status: head.status, fields: head.fields.endToEnd(), requestedAt: requestedAt,
            receivedAt: tools.clock.now())
        if let held {
            if isValidating, head.status == 304 {
                state.withLock { $0.phase = .confirming }
                return
            }
            if head.status >= 500, serveStale(held, .status(head.status)) { return }
            if leader.request.method == .head { gateway.compare(held, with: answer, answer.with(head.fields), leader) }
        }
        let urls = Invalidation.urls(method: leader.request.method, url: url, answer: answer)
        guard !urls.isEmpty else { return begin(answer, head, isOnItsWay: true) }
        // The invalidation is done before any client sees the answer, so a later request gets no older response. The
        // flight takes no further calls meanwhile.
        state.withLock { $0.phase = .answered(nil) }
        let groups = CacheGroups(invalidatedBy: answer.fields, method: leader.request.method)
        // The answer's own invalidation must not keep the answer from being stored. A purge by another caller does keep
        // it from being stored.
        let reservation = state.withLock(\.reservation)
        gateway.invalidate(urls, groups, of: leader.request.url, sparing: reservation) { [self] in
            // Leaves the writer's thread, because storing the bytes that arrived meanwhile may have to wait for the
            // writer.
            gateway.queue.async { [self] in begin(answer, head) }
        }
    }

    func originDidSend(_ bytes: UnsafeRawBufferPointer) throws {
        tools.metrics.receivedBytes.increment(by: bytes.count)
        let (reservation, flow): (Reservation?, BodyFlow?) = state.withLock { state in
            guard let flow = state.flow else {
                state.early += bytes
                state.obey(.pause)
                return (nil, nil)
            }
            return (state.stored == nil ? nil : state.reservation, flow)
        }
        if let flow { take(bytes, reservation, flow) }
    }

    private func take(_ bytes: UnsafeRawBufferPointer, _ reservation: Reservation?, _ flow: BodyFlow) {
        if let reservation {
            do {
                try reservation.receive(bytes)
            } catch {
                // Only keeping ends. The readers still get the rest of the body.
                stopKeeping()
                flow.stopKeeping()
            }
        }
        let (length, isUnsent) = state.withLock { ($0.head?.declaredLength, $0.unsent != nil) }
        let isWhole = length.map { flow.receivedCount + Int64(bytes.count) >= $0 } ?? false
        // Does not note an answer that no client has yet; `open` notes it when the answer is passed on.
        if isWhole, !isUnsent, reservation != nil { noteWholeAnswer() }
        flow.receive(bytes)
        if isWhole { passOn() }
    }

    func originDidPause() {
        passOn()
    }

    func originDidFinish(_ result: Result<OriginSummary, OriginError>) {
        if case .success = result { passOn() } else { passOn(isBroken: true) }
        let (phase, flow, isEarly) = state.withLock { state in
            // An invalidation is in progress: `begin` has not made the flow yet. The end waits for it in `state.end`.
            guard case .answered = state.phase, state.flow == nil else { return (state.phase, state.flow, false) }
            state.end = result
            return (state.phase, nil, true)
        }
        if isEarly { return }
        if case .ended = phase { return }
        switch (result, phase) {
        case (.success, .confirming): confirm()
        case (.success(let summary), .answered): complete(summary, flow)
        case (.success, _): fail(.transferFailed(code: 0, words: "the origin sent no answer"))
        case (.failure, .answered):
            // The phase changes first, so that no call joins a broken answer.
            state.withLock { $0.phase = .ended }
            flow?.fail()
            stopKeeping()
            end()
            tools.metrics.failed.increment()
        case (.failure(let error), _): fail(DownloadError(error))
        }
    }

    // MARK: - The head

    /// Begins the answer: decides whether it is kept, creates the flow, and passes the answer to the waiters, at once
    /// or together with a short body.
    ///
    /// - Parameter isOnItsWay: whether the origin client will deliver body bytes, call ``originDidPause()`` or finish
    ///   after this call. It is `false` after an invalidation, because these calls may be past.
    private func begin(_ answer: OriginAnswer, _ head: OriginHead, isOnItsWay: Bool = false) {
        let (stored, pass) = keep(answer, head)
        let reservation = state.withLock(\.reservation)
        let flow = BodyFlow(kept: stored == nil ? nil : reservation?.body) { [weak self] demand in
            self?.obey(demand)
            if demand == .pause { self?.watchForStandstill() }
        }
        // The early bytes go first. The flow becomes visible to the origin's thread in the same step that finds no
        // early bytes left, so later bytes and the end cannot overtake them. Until then, the origin's thread only adds
        // to `early`. So a single thread at a time delivers bytes to the reservation, although this method may run on
        // the gateway's queue.
        var end: Result<OriginSummary, OriginError>?
        while true {
            let early: [UInt8]? = state.withLock { state in
                guard state.early.isEmpty else {
                    defer { state.early = [] }
                    return state.early
                }
                state.flow = flow
                end = state.end.take()
                state.obey(.resume)
                return nil
            }
            guard let early else { break }
            early.withUnsafeBytes { take($0, stored == nil ? nil : reservation, flow) }
        }
        state.withLock { $0.unsent = Unsent(answer: answer, head: head, pass: pass) }
        // A short body usually arrives together with its head, and is sent with it. That saves a packet and a wake-up.
        let isShort = head.declaredLength.map { (1...Int64(BodyFlow.lengthAtOnce)).contains($0) } ?? false
        if !isOnItsWay || !isShort || head.framing != .length { passOn() }
        if let end { originDidFinish(end) }
    }

    /// Gives the waiters the answer, if it is known and they do not have it.
    ///
    /// - Parameter isBroken: whether the body will never be whole. Then only the leader gets the answer.
    private func passOn(isBroken: Bool = false) {
        let (unsent, stored, flow) = state.withLock { state in
            (state.unsent.take(), state.stored, state.flow)
        }
        guard let unsent, let flow else { return }
        answerAll(unsent.answer, unsent.head, stored, unsent.pass, flow: flow, isBroken: isBroken)
    }

    /// Cancels the flight if the upload and the answer block each other.
    ///
    /// libmicrohttpd sends no answer before it has the whole request. So an origin that answers at length while it
    /// still reads stands still for ever: the flight stops reading because the answer has no reader, and the origin
    /// stops reading because its answer is not taken. The check repeats every `patience` until the body has a reader.
    /// It cancels the flight when uploaded bytes wait and the origin took none since the last check.
    private func watchForStandstill() {
        guard let pipe = leader.request.upload?.pipe else { return }
        let before = pipe.progress
        gateway.queue.asyncAfter(deadline: .now() + gateway.patience.inSeconds) { [weak self] in
            guard let self, state.withLock(\.flow)?.hasBeenRead == false else { return }
            let now = pipe.progress
            now.waiting > 0 && now.taken == before.taken ? cancel() : watchForStandstill()
        }
    }

    /// Decides whether the answer is kept. Returns the response to store, or the reason for not storing it. Both are
    /// `nil` when there is no reservation, and when the cache fails for a reason that is not for the client.
    func keep(_ answer: OriginAnswer, _ head: OriginHead) -> (StoredResponse?, PassReason?) {
        guard let reservation = state.withLock(\.reservation) else { return (nil, nil) }
        // The policy sees all fields, because a directive counts even when `Connection` names its field.
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
            state.withLock { $0.stored = stored }
            return (stored, nil)
        }
    }

    func answerAll(
        _ answer: OriginAnswer, _ head: OriginHead, _ stored: StoredResponse?, _ pass: PassReason?, flow: BodyFlow,
        isBroken: Bool
    ) {
        let now = tools.clock.now()
        let answered = stored.flatMap { stored in
            state.withLock(\.reservation).map {
                Shared(head: stored, key: $0.key.text, flow: flow, length: head.declaredLength)
            }
        }
        // The leader's answer tells nothing about other calls when the leader needs an answer of its own, or when the
        // answer is a response to its conditions (304, 412).
        if leader.mayWait, isKeepable, ![304, 412].contains(answer.status) {
            gateway.learn(of: leader, isShareable: answered.map { leader.isFit($0.head, now: now) } ?? false)
        }
        // The answer becomes visible to other calls before any client has it. So a request that is sent after a client
        // got this answer finds it, and gets no older response.
        let shared = open(answered, isBroken: isBroken)
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            return state.waiters
        }
        // A purge may have come before the head told that it matches this answer. A follower may have asked after that
        // purge, so it must not get this older answer.
        let isPurged = state.withLock(\.reservation)?.isPurged ?? false
        for waiter in waiters {
            if !waiter.isFollower {
                waiter.call.answer(answer, shared, pass, flow: flow, length: head.declaredLength, now: now)
            } else if let shared, !isPurged, waiter.call.mayHave(shared.head, now: now) {
                waiter.call.join(shared, now: now)
            } else {
                gateway.sendBack(waiter.call)
            }
        }
        if !waiters.contains(where: { !$0.isFollower }) {
            // The leader's client has left.
            shared == nil ? cancel() : flow.dismiss()
        }
    }

    /// Opens the answer to other calls, and returns it. Returns `nil` when the body is known to stay incomplete, or
    /// when the flight was cancelled meanwhile. A flight that is not in the phase `waiting` stays closed, and its
    /// leader alone gets `shared`.
    private func open(_ shared: Shared?, isBroken: Bool) -> Shared? {
        let isWaiting = state.withLock { state in
            if case .waiting = state.phase { true } else { false }
        }
        guard isWaiting else { return shared }
        // The table gets the head before the phase changes. A call that finds the flight in its new phase must find it
        // by its answer as well; until then the call waits.
        gateway.noteHead(isBroken ? nil : shared?.head, of: self)
        // Asks the flow before taking the flight's lock, because the flow's lock comes first.
        let isWhole = shared.map { $0.flow.hasAll(of: $0.length) } ?? false
        let (opened, isFirst) = state.withLock { state -> (Shared?, Bool) in
            // The flight may have been given up meanwhile for the sake of another flight; see ``giveUp()``.
            let opened = isBroken || state.demand == .cancel ? nil : shared
            state.phase = .answered(opened)
            return (opened, opened != nil && isWhole && note(&state))
        }
        if isFirst { gateway.group.leave(self) }
        if opened == nil, shared != nil { gateway.noteHead(nil, of: self) }
        return opened
    }

    func serveStale(_ held: HeldResponse, _ failure: OriginFailure) -> Bool {
        let now = tools.clock.now()
        guard leader.mayHaveStale(held, onError: failure, now: now) else {
            return false
        }
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            state.phase = .ended
            return state.waiters
        }
        for waiter in waiters {
            if waiter.call.mayHaveStale(held, onError: failure, now: now) {
                gateway.serve(held, to: waiter.call, as: .staleAfter(failure))
            } else {
                gateway.goAlone(waiter.call)
            }
        }
        // No client waits for the rest of the body.
        cancel()
        end()
        return true
    }
}

extension OriginAnswer {
    /// Whether the answer has exactly the received fields: no field was for one hop only, and no Date had to be added.
    func hasAll(of fields: HTTPFields) -> Bool {
        self.fields.count == fields.count && fields.contains(.date)
    }

    /// The same answer with other fields.
    func with(_ fields: HTTPFields) -> OriginAnswer {
        var answer = self
        answer.fields = fields
        return answer
    }
}

extension PassReason {
    /// The reason for not keeping a body; `nil` for an error that is not for the client.
    fileprivate init?(_ error: DiskCacheError) {
        switch error {
        case .entryTooLarge: self = .tooLarge
        case .noSpace: self = .noRoom
        default: return nil
        }
    }
}
