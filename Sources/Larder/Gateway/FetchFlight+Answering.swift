import DiskCache
import Dispatch
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

/// What the origin says.
extension FetchFlight: OriginReceiver {
    func originDidAnswerInterim(_ head: OriginHead) {
        // Nobody knows yet whether others may have this answer.
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
        // Before its answer is seen, so that who asks after it gets nothing older.
        state.withLock { $0.phase = .answered(nil) }
        let groups = CacheGroups(invalidatedBy: answer.fields, method: leader.request.method)
        // Its own invalidation must not keep its answer from being stored; somebody else's purge does.
        let reservation = state.withLock(\.reservation)
        gateway.invalidate(urls, groups, of: leader.request.url, sparing: reservation) { [self] in
            // Not on the writer's thread: to store what came meanwhile may have to wait for it.
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
                // Whoever reads gets the rest all the same.
                stopKeeping()
                flow.stopKeeping()
            }
        }
        let (length, isUnsent) = state.withLock { ($0.head?.declaredLength, $0.unsent != nil) }
        let isWhole = length.map { flow.receivedCount + Int64(bytes.count) >= $0 } ?? false
        // What nobody has yet is noted when it is passed on.
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
            // What is being invalidated comes first.
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
            // First, so that nobody joins what is broken.
            state.withLock { $0.phase = .ended }
            flow?.fail()
            stopKeeping()
            end()
            tools.metrics.failed.increment()
        case (.failure(let error), _): fail(DownloadError(error))
        }
    }

    // MARK: - The head

    /// It is known what becomes of the answer: whoever waits gets it, at once or with a short body that comes with it.
    ///
    /// - Parameter isOnItsWay: whether the origin will say what comes of the body, or ``originDidPause()``, after this.
    private func begin(_ answer: OriginAnswer, _ head: OriginHead, isOnItsWay: Bool = false) {
        let (stored, pass) = keep(answer, head)
        let reservation = state.withLock(\.reservation)
        let flow = BodyFlow(kept: stored == nil ? nil : reservation?.body) { [weak self] demand in
            self?.obey(demand)
            if demand == .pause { self?.watchForStandstill() }
        }
        // What came early goes first; only when there is no more of it the next bytes, and the end, come past it.
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
        // A short body mostly comes with its head, and is sent with it: one packet instead of two, and one wake-up.
        let isShort = head.declaredLength.map { (1...Int64(BodyFlow.lengthAtOnce)).contains($0) } ?? false
        if !isOnItsWay || !isShort || head.framing != .length { passOn() }
        if let end { originDidFinish(end) }
    }

    /// Whoever waits gets the answer, if it is known and they do not have it.
    ///
    /// - Parameter isBroken: whether it will never be whole: then only its own client gets it.
    private func passOn(isBroken: Bool = false) {
        let (unsent, stored, flow) = state.withLock { state in
            (state.unsent.take(), state.stored, state.flow)
        }
        guard let unsent, let flow else { return }
        answerAll(unsent.answer, unsent.head, stored, unsent.pass, flow: flow, isBroken: isBroken)
    }

    /// libmicrohttpd sends no answer before it has the whole request. So an origin that answers as it reads, at length,
    /// stands still for ever: it is not read from because its answer has nowhere to go, and reads no more itself.
    private func watchForStandstill() {
        guard let pipe = leader.request.upload?.pipe else { return }
        let before = pipe.progress
        gateway.queue.asyncAfter(deadline: .now() + gateway.patience.inSeconds) { [weak self] in
            guard let self, state.withLock(\.flow)?.hasBeenRead == false else { return }
            let now = pipe.progress
            now.waiting > 0 && now.taken == before.taken ? cancel() : watchForStandstill()
        }
    }

    /// What will be stored of an answer, or why nothing is.
    func keep(_ answer: OriginAnswer, _ head: OriginHead) -> (StoredResponse?, PassReason?) {
        guard let reservation = state.withLock(\.reservation) else { return (nil, nil) }
        // By all of its fields: a directive counts even when `Connection` names the field that it stands in.
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
        // What came for a request that wants an answer of its own, or answers its conditions, tells nothing of others.
        if leader.mayWait, isKeepable, ![304, 412].contains(answer.status) {
            gateway.learn(of: leader, isShareable: answered.map { leader.isFit($0.head, now: now) } ?? false)
        }
        // Before anybody has it: who asks after that finds it, and gets nothing older.
        let shared = open(answered, isBroken: isBroken)
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            return state.waiters
        }
        // A purge may have met it before it was known that it meant it: who came after that gets nothing older.
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
            // Its client has left.
            shared == nil ? cancel() : flow.dismiss()
        }
    }

    /// Lets others find the answer, unless it is known by now that it will not be whole, or the flight is not open to
    /// anybody; what they may find is returned.
    private func open(_ shared: Shared?, isBroken: Bool) -> Shared? {
        let isWaiting = state.withLock { state in
            if case .waiting = state.phase { true } else { false }
        }
        guard isWaiting else { return shared }
        // First, for who finds the flight in its new phase must find it by its answer, too; till then it waits.
        gateway.noteHead(isBroken ? nil : shared?.head, of: self)
        // Not under the lock: the flow's comes before it.
        let isWhole = shared.map { $0.flow.hasAll(of: $0.length) } ?? false
        let (opened, isFirst) = state.withLock { state -> (Shared?, Bool) in
            // It may have been given up for another one's sake meanwhile.
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
        // Nobody waits for the rest of it.
        cancel()
        end()
        return true
    }
}

extension OriginAnswer {
    /// Whether it has just the fields that came: none was for one hop only, and no Date had to be added.
    func hasAll(of fields: HTTPFields) -> Bool {
        self.fields.count == fields.count && fields.contains(.date)
    }

    /// The same with other fields.
    func with(_ fields: HTTPFields) -> OriginAnswer {
        var answer = self
        answer.fields = fields
        return answer
    }
}

extension PassReason {
    /// Why there is no place for a body; `nil` when it is nothing to tell the client.
    fileprivate init?(_ error: DiskCacheError) {
        switch error {
        case .entryTooLarge: self = .tooLarge
        case .noSpace: self = .noRoom
        default: return nil
        }
    }
}
