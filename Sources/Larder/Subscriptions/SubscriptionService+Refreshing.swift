import DiskCache
import Primitives
import Subscriptions

/// The requests for members, and the switches to the next generation. All on `queue`.
extension SubscriptionService {
    /// Begins the work of a set that is due. Returns the next date at which it has work; `nil` while only answers can
    /// give it work.
    func advance(_ set: HeldSet, _ store: SubscriptionStore, at now: Timestamp) -> Timestamp? {
        guard let space = tools.namespace(set.namespace), space.id == set.spaceID else { return nil }
        set.machine.observe(now)
        // A source that is due waits for a turn, and not for a time.
        if let date = set.machine.nextDate, date <= now, !set.machine.sourceIsDue(at: now) { handle(.time, set) }
        var next = readSource(of: set, space, at: now)
        if let date = fetchMembers(of: set, space, at: now) { next = min(next ?? date, date) }
        if let date = lookForSecrets(of: set, at: now) { next = min(next ?? date, date) }
        if let date = set.machine.nextDate, date > now { next = min(next ?? date, date) }
        return next
    }

    func handle(_ event: RefreshMachine.Event, _ set: HeldSet) {
        let hadProblem = set.machine.problem != nil
        let actions = set.machine.handle(event, at: tools.clock.now(), random: .random(in: 0...1))
        for action in actions {
            switch action {
            case .publish(let kept, let changed, let ends): publish(kept, changed, ends: ends, set)
            case .dropStage: dropStage(of: set)
            }
        }
        set.cancelOldRequests()
        if !hadProblem, set.machine.problem != nil { publish(.subscriptionFailed, set.report) }
        scheduleSave(set)
        scheduleAdvance()
    }

    // MARK: - Members

    /// Begins the requests for which members are due and their hosts have a turn. Returns the next date of either.
    private func fetchMembers(of set: HeldSet, _ space: Namespace, at now: Timestamp) -> Timestamp? {
        guard let (_, date) = set.machine.nextTurn() else { return nil }
        guard date <= now else { return date }
        guard hasSecrets(set, at: now) else { return nil }
        guard case .open(let stage) = set.stage else {
            openStage(of: set, space.cache)
            return nil
        }
        while let (host, date) = set.machine.nextTurn() {
            guard date <= now else { return date }
            // The end of a request lets the next one begin.
            guard memberRequestCount < memberRequestLimit else { return nil }
            if case .wait(let turn) = pacer.take(host, set.definition.pacing, by: set.id, in: set.namespace, at: now) {
                set.machine.holdHost(host, until: turn)
            } else if let request = set.machine.beginMember(ofHost: host, at: now) {
                fetch(request, set, stage, space)
            } else {
                pacer.abandoned(host)
            }
        }
        return nil
    }

    /// A request has ended, so that the next one to its host may begin.
    func requestEnded(to host: String) {
        pacer.ended(host)
        for set in sets.values { set.machine.freeHost(host) }
    }

    private func fetch(
        _ request: RefreshMachine.MemberRequest, _ set: HeldSet, _ stage: GenerationStage, _ space: Namespace
    ) {
        let item = request.item
        memberRequestCount += 1
        lastTransfer += 1
        let (number, transfer) = (lastTransfer, PendingTransfer())
        set.memberTransfers[number] = .init(ticket: request.ticket, transfer: transfer)
        let ttl = set.definition.ttl ?? set.machine.members[item.key]?.interval ?? set.definition.interval.shortest
        let then: @Sendable (MemberFetch.Result) -> Void = { [weak self] result in
            self?.queue.async { [weak self] in
                guard let self else { return }
                memberRequestCount -= 1
                set.memberTransfers[number] = nil
                requestEnded(to: item.host)
                if let wish = result.hostWish { obey(wish, in: set.namespace) }
                guard sets[set.id] === set else { return scheduleAdvance() }
                // The answer to a request of an earlier round has its body in the stage of that round.
                if set.machine.round?.ticket == request.ticket, let member = result.member {
                    set.settled[item.key] = member
                }
                let answer = result.answer(forCopy: set.machine.members[item.key]?.hasCopy == true)
                handle(.memberAnswered(key: item.key, ticket: request.ticket, answer), set)
            }
        }
        let order = MemberFetch.Order(
            stage: stage, stagedBytes: set.stagedBytes, tools: space.downloads.tools, fields: set.fields(for: item.url),
            entryLimit: tools.entryLimit, ttl: ttl, tags: set.definition.tags, transfer: transfer)
        if set.isCapture {
            PageFetch.start(item, order, in: space.pages, then: then)
        } else {
            MemberFetch.start(item, order, then: then)
        }
    }

    private func openStage(of set: HeldSet, _ cache: DiskCache) {
        guard case .none = set.stage else { return }
        set.stage = .opening
        cache.beginGeneration(of: set.definition.name) { [self] result in
            queue.async { [self] in
                guard sets[set.id] === set, case .opening = set.stage else { return }
                switch result {
                case .success(let stage):
                    set.stage = .open(stage)
                    scheduleAdvance()
                case .failure(let error):
                    set.stage = .none
                    tools.logger.warning(
                        "a generation cannot be begun",
                        metadata: ["subscription": "\(set.definition.name)", "reason": "\(error)"])
                }
            }
        }
    }

    // MARK: - The switch

    private func publish(_ kept: [String], _ changed: [String], ends: Bool, _ set: HeldSet) {
        guard case .open(let stage) = set.stage else { return openAndPublish(kept, changed, ends: ends, set) }
        let members =
            kept.compactMap { key in set.machine.members[key].map { GenerationMember($0.item, in: stage) } }
            + changed.compactMap { set.settled[$0] }
        stage.publish(members, ends: ends) { [self] result in
            queue.async { [self] in
                guard sets[set.id] === set else { return }
                switch result {
                case .success(let outcome): didSwitch(outcome, changed, ends: ends, set)
                case .failure(let error):
                    tools.logger.warning(
                        "a subscription keeps its old generation",
                        metadata: ["subscription": "\(set.definition.name)", "reason": "\(error)"])
                    metrics.failedSwitches.increment()
                    handle(.switchFailed(isRoom: error == .noSpace), set)
                }
            }
        }
    }

    /// A round without requests has no stage yet.
    private func openAndPublish(_ kept: [String], _ changed: [String], ends: Bool, _ set: HeldSet) {
        guard let cache = tools.namespace(set.namespace)?.cache else { return }
        cache.beginGeneration(of: set.definition.name) { [self] result in
            queue.async { [self] in
                guard sets[set.id] === set else { return }
                guard case .success(let stage) = result else { return handle(.switchFailed(isRoom: false), set) }
                set.stage = .open(stage)
                publish(kept, changed, ends: ends, set)
            }
        }
    }

    private func didSwitch(_ outcome: GenerationSwitch, _ changed: [String], ends: Bool, _ set: HeldSet) {
        set.generation = outcome.generation
        for key in changed {
            guard let member = set.settled.removeValue(forKey: key), outcome.lost[key] == nil,
                outcome.outdated[key] == nil
            else { continue }
            set.confirmed[key] = member.confirmed ?? tools.clock.now()
        }
        if ends {
            set.stage = .none
            set.settled = [:]
        }
        if ends { metrics.switches.increment() }
        let lost = outcome.lost.mapValues { $0.memberLoss(keepsCopy: false) }
        let outdated = outcome.outdated.mapValues { $0.memberLoss(keepsCopy: true) }
        handle(.switched(lost: lost.merging(outdated) { lost, _ in lost }), set)
        if ends {
            set.forgetDates()
            publish(.subscriptionRefreshed, set.report)
        }
        if case .open(let store) = phase { save(set, store) }
    }

    private func dropStage(of set: HeldSet) {
        if case .open(let stage) = set.stage { stage.abandon() }
        set.stage = .none
        set.settled = [:]
    }
}

extension GenerationMember {
    /// When the origin confirmed or sent the body.
    fileprivate var confirmed: Timestamp? {
        switch body {
        case .kept(let metadata): metadata?.downloadEndDate
        case .staged(_, let metadata): metadata.downloadEndDate
        }
    }
}

extension GenerationSwitch.Loss {
    fileprivate func memberLoss(keepsCopy: Bool) -> MemberLoss {
        MemberLoss(words, keepsCopy: keepsCopy, isPassing: self == .evicted || self == .damaged)
    }

    /// The reason for which readers have no copy, or an old one.
    private var words: String {
        switch self {
        case .removed: "a caller removed the copy while the next generation arrived"
        case .evicted: "the copy was evicted, had expired or was damaged; the next refresh fetches it again"
        case .occupied: "the key of the URL has an entry of another kind"
        case .invalid: "the entry would have too many tags"
        case .damaged: "the new body was damaged on the disk"
        }
    }
}
