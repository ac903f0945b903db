import Primitives

@testable import Outbox

/// The answers to requests, and their faults.
extension OutboxSimulation {
    func serve() {
        let isRead = shell.sends.isEmpty || (!shell.reads.isEmpty && Bool.random(using: &random))
        if isRead { serveRead() } else { serveSend() }
    }

    func findNamespace() {
        isNamespaceMissing = false
        shell.step(.namespaceFound("m"))
    }

    private func missNamespace(_ flight: Flight) {
        missedNamespaces += 1
        shell.step(.namespaceMissing(flight))
    }

    private func serveRead() {
        guard !shell.reads.isEmpty else { return }
        let order = shell.reads.remove(at: Int.random(in: 0..<shell.reads.count, using: &random))
        if isNamespaceMissing, order.namespace == "m" { return missNamespace(order.flight) }
        if isUnreadable(order.credential) { return shell.step(.credentialUnreadable(order.flight)) }
        unseen.remove(order.flight.change)
        if isFaulty, chance(1, of: 10) { return shell.step(.readFailed(order.flight)) }
        if isRefused(order.credential, order.flight) {
            if chance(1, of: 3) { return shell.step(.credentialMissing(order.flight)) }
            let mark = origin.get(order.url, at: shell.now).mark
            return shell.step(.readAnswered(order.flight, ReadAnswer(status: 401, body: [], mark: mark)))
        }
        var answer = origin.get(order.url, at: shell.now)
        if isFaulty, chance(1, of: 12) {
            answer.status = 503
            if chance(1, of: 3) { answer.retryAfter = pause(order.flight, order.url, 3) }
        }
        // Other readers may not get every answer, and the cache may fail.
        let isStored = answer.status == 200 && order.fields.isEmpty && !(isFaulty && chance(1, of: 4))
        answer.isStored = isStored
        if isStored { cached[order.url] = origin.log.count }
        shell.step(.readAnswered(order.flight, answer))
    }

    private func serveSend() {
        guard !shell.sends.isEmpty else { return }
        let order = shell.sends.remove(at: Int.random(in: 0..<shell.sends.count, using: &random))
        if shell.stateWhenSent.last != .sending { problems.append("a request went out before its state was durable") }
        if knownPosts.contains(order.flight.change) {
            problems.append("POST \(order.flight.change) is sent again, although its effect is known")
        }
        if isNamespaceMissing, order.namespace == "m" { return missNamespace(order.flight) }
        if isUnreadable(order.credential) { return shell.step(.credentialUnreadable(order.flight)) }
        if isRefused(order.credential, order.flight) {
            if chance(1, of: 3) { return shell.step(.credentialMissing(order.flight)) }
            return respond(order, SendAnswer(status: 401))
        }
        guard isFaulty, chance(4, of: 10) else {
            if order.method == "POST" { knownPosts.insert(order.flight.change) }
            return respond(order, apply(order))
        }
        switch Int.random(in: 0..<6, using: &random) {
        case 0: shell.step(.sendFailed(order.flight, .notSent))
        case 1:
            respond(
                order, SendAnswer(status: 429, retryAfter: chance(1, of: 2) ? pause(order.flight, order.url, 3) : nil))
        case 2:
            unseen.insert(order.flight.change)
            respond(order, SendAnswer(status: 500))
        case 3:
            unseen.insert(order.flight.change)
            // A proxy gives up, and the request arrives later.
            lostAnswers += 1
            if order.method == "PUT" { late.append(order) }
            respond(order, SendAnswer(status: 504))
        case 4:
            unseen.insert(order.flight.change)
            lostAnswers += 1
            _ = apply(order)
            shell.step(.sendFailed(order.flight, .unknown))
        default:
            unseen.insert(order.flight.change)
            lostAnswers += 1
            _ = apply(order)
            respond(
                order, SendAnswer(status: 503, retryAfter: chance(1, of: 3) ? pause(order.flight, order.url, 2) : nil))
        }
    }

    func host(_ url: String, in namespace: String) -> String {
        namespace + " " + url.split(separator: "/").prefix(2).joined(separator: "//")
    }

    private func pause(_ flight: Flight, _ url: String, _ seconds: Int) -> Duration {
        // The machine does not hear the answer to a flight that it has given up.
        guard shell.machine.lane(of: flight) != nil else { return .seconds(seconds) }
        let host = host(url, in: shell.rows[flight.change]!.draft.namespace)
        pauses[host] = max(pauses[host] ?? shell.now, shell.now + .seconds(seconds))
        return .seconds(seconds)
    }

    /// Whether the store fails while it reads the credential.
    private func isUnreadable(_ credential: String?) -> Bool {
        guard credential != nil, isFaulty, chance(1, of: 12) else { return false }
        unreadCredentials += 1
        return true
    }

    private func isRefused(_ credential: String?, _ flight: Flight) -> Bool {
        guard credential != nil, shell.usedCredentials[flight, default: 0] < wantedCredential else { return false }
        refusedCredentials += 1
        return true
    }

    private func respond(_ order: SendOrder, _ answer: SendAnswer) { shell.step(.sendAnswered(order.flight, answer)) }

    func deliverLate() {
        guard !late.isEmpty else { return }
        _ = apply(late.removeFirst())
    }

    /// Whether a decision has let the change win over a version that the store has not kept.
    private func isSeen(_ version: [UInt8]?, _ id: Change.ID) -> Bool {
        version.map { shell.rows[id]!.rewrittenBase == BodyDigest(of: $0) } ?? false
    }

    func kill() {
        kills += 1
        for order in shell.sends {
            unseen.insert(order.flight.change)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: _ = apply(order)
            case 1: if order.method == "PUT" { late.append(order) }
            default: break
            }
        }
        shell.kill()
        knownPosts = []
    }

    /// Lets a request arrive, and checks its effect.
    private func apply(_ order: SendOrder) -> SendAnswer {
        let count = origin.log.count
        let answer = origin.take(order, at: shell.now)
        guard origin.log.count > count, let effect = origin.log.last, let edit = edits[order.flight.change] else {
            return answer
        }
        let before = effect.before.map { FlatObject($0).members } ?? [:]
        let after = FlatObject(effect.after).members
        let base = shell.rows[order.flight.change]!.draft.base.version?.body.map { FlatObject($0).members } ?? [:]
        for field in fields where before[field] != after[field] {
            if edit.values[field] == nil {
                problems.append("change \(order.flight.change) has lost \(field)=\(before[field] ?? "-")")
            } else if before[field] != base[field], !isSeen(effect.before, order.flight.change) {
                problems.append("change \(order.flight.change) replaced the unseen \(before[field] ?? "-")")
            }
        }
        if order.content.bytes != shell.rows[order.flight.change]!.draft.ours { merges += 1 }
        let applied = origin.log.filter { $0.change == order.flight.change }.count
        if applied > 1 + decisions[order.flight.change, default: 0] {
            problems.append("change \(order.flight.change) was applied \(applied) times")
        }
        return answer
    }
}
