import HTTPTypes
import Primitives
import TestSupport

/// The downloads of an owner: good and bad downloads, batches, and downloads that the owner does not wait for.
extension SoakOwner {
    /// A download that is about to be requested.
    private struct Order {
        var name: SoakName
        var version: Int
        var ttl: Int
        var isGood: Bool
        var slides: Bool
        var json: JSON
    }

    /// Prepares the next download of a name: sets the origin's answer, and begins the change in the model.
    private func order(_ name: SoakName, _ behaviour: SoakOrigin.Behaviour? = nil) -> Order {
        var behaviour = behaviour ?? randomBehaviour()
        var version = newVersion()
        if behaviour == .unchanged {
            if let held = run.model.withLock({ $0.certainVersion(name.text) }) {
                version = held
            } else {
                behaviour = .whole
            }
        }
        run.origin.plan(name.text, .init(version: version, behaviour: behaviour))
        if behaviour.isGood {
            run.model.withLock { $0.begin([name.text], .store(.init(version: version, freshUntil: .infinity))) }
        }
        let ttl = ttl()
        let slides = random.next() % 2 == 0
        var members: [JSON.Member] = [
            .init("url", .string(run.origin.url(of: name.text))), .init("ttl", .number(ttl)),
            .init("tags", [.string(name.tag!)]), .init("refresh", .bool(random.next() % 4 != 0)),
            .init("updateExpiry", .bool(slides)),
        ]
        if isPinned { members.append(.init("pinned", true)) }
        if random.next() % 5 == 0 { members.append(.init("staleIfError", 60)) }
        return Order(
            name: name, version: version, ttl: ttl, isGood: behaviour.isGood, slides: slides, json: .object(members))
    }

    private func randomBehaviour() -> SoakOrigin.Behaviour {
        switch random.next() % 24 {
        case 20...21: .trailing
        case 22: .folded
        case 23: .misframed
        case 0: .short
        case 1: .reset
        case 2: .refusal
        case 3: random.next() % 4 == 0 ? .endlessHead : .refusal
        case 4...5: .slow
        case 6...9: .chunked
        case 10...13: .unchanged
        default: .whole
        }
    }

    /// Downloads a name, and waits for the response.
    func download(_ name: SoakName) {
        let order = order(name)
        settle(order, client.ask("POST", "/download", json: order.json))
    }

    private func settle(_ order: Order, _ talk: SoakClient.Talk<HTTPReply>) {
        let what = "download of \(order.name.text)"
        guard let reply = conclude([order.name], talk, what, mayFail: !order.isGood) else {
            return noteLost(order)
        }
        guard let json = try? reply.json else { return fail("\(what): no JSON: \(reply.text)") }
        settle(order, json, what)
    }

    /// Records that a request without a usable response may have been a hit that renewed the expiry date.
    private func noteLost(_ order: Order) {
        if order.slides { run.model.withLock { $0.mayHaveSlid(order.name.text) } }
    }

    /// Checks a response with an entry against the model.
    private func settle(_ order: Order, _ json: JSON, _ what: String) {
        let name = order.name.text
        let outcome = json["outcome"]?.stringValue ?? "none"
        guard let version = version(ofDigest: json["entry"]?["digest"]?.stringValue, name) else {
            run.model.withLock { $0.end([name], .unknown) }
            let verdict = run.model.withLock { $0.verdict(name, found: -1, at: nil) } ?? ""
            return fail("\(what): \(outcome), with a body that no worker stored (\(verdict)): \(json.text)")
        }
        if outcome == "downloaded", !order.isGood || version != order.version {
            fail("\(what): downloaded version \(version), expected \(order.isGood ? "\(order.version)" : "none")")
        }
        let ttl = json["entry"]?["expiresInSeconds"]?.doubleValue
        let isHit = outcome == "cached" || outcome == "stale"
        if isHit { run.tally.hit() }
        if outcome == "cached", order.slides, ttl != Double(order.ttl) {
            fail("\(what): the hit set a ttl of \(ttl ?? -1) seconds instead of \(order.ttl)")
        }
        let isRenewed = !isHit || (outcome == "cached" && order.slides)
        let end = isRenewed ? ttl.map { run.now + $0 } : nil
        if order.isGood || isRenewed {
            let slidAt = isHit && isRenewed ? run.now : nil
            judge(
                run.model.withLock { $0.settle(name, version: version, freshUntil: end, slidAt: slidAt) }, what)
        } else {
            found(version, order.name, what)
        }
    }

    /// Downloads several names at once. The response has a line for each name.
    func batch() {
        var rest = names.filter { $0.kind == .download }.shuffled(using: &random)
        rest.removeLast(max(0, rest.count - 2 - Int(random.next() % 10)))
        let orders = rest.map { order($0) }
        let talk = client.ask("POST", "/downloads", json: .array(orders.map(\.json)))
        guard case .value(let reply) = talk, reply.status == 200 else {
            _ = conclude(rest, talk, "batch")
            for order in orders { noteLost(order) }
            return
        }
        var answered: Set<Int> = []
        for line in reply.text.split(separator: "\n") {
            guard let json = try? JSON(parsing: String(line)), let index = json["index"]?.doubleValue.map({ Int($0) }),
                orders.indices.contains(index), answered.insert(index).inserted
            else {
                fail("batch: \(line)")
                continue
            }
            let what = "download \(index) of a batch, of \(orders[index].name.text)"
            guard let problem = json["error"] else {
                settle(orders[index], json, what)
                continue
            }
            run.model.withLock { $0.end([orders[index].name.text], .refused) }
            let status = problem["status"]?.doubleValue.map { Int($0) } ?? 0
            // An element may fail if the disk is full (507), if the origin sends a bad answer (502 or 504), or if the
            // server drains or is killed.
            let isExcused =
                status == 507 || (!orders[index].isGood && [502, 504].contains(status))
                || run.server.life?.isEnding != false
            if !isExcused { fail("\(what): \(problem.text)") }
        }
        for index in orders.indices where !answered.contains(index) {
            run.model.withLock { $0.end([orders[index].name.text], .unknown) }
            noteLost(orders[index])
        }
        if answered.count != orders.count { fail("batch: \(answered.count) of \(orders.count) lines") }
    }

    /// Starts a download that would never end, in the background, and cancels it.
    func cancel(_ name: SoakName) {
        guard name.kind == .download else { return }
        let order = order(name, .stall)
        let fields: HTTPFields = [HTTPField.Name("Prefer")!: "respond-async"]
        let started = client.ask("POST", "/download", fields: fields, json: order.json)
        guard let reply = conclude([name], started, "start of \(name.text)", [200, 202]) else { return }
        guard reply.status == 202 else { return settle(order, .value(reply)) }
        let path = "/downloads/\(key(of: name))"
        guard let status = conclude([name], client.ask("GET", path), "GET \(path)", [200, 404]),
            let end = conclude([name], client.ask("DELETE", path), "DELETE \(path)", [200, 404, 409])
        else { return }
        // A server that was restarted after the start of the download does not know the download.
        if status.status == 404 || end.status == 404 { run.tally.count("forgotten downloads") }
    }

    /// Requests a download, and hangs up as soon as it runs. The download goes on.
    func leave(_ name: SoakName) {
        guard name.kind == .download else { return }
        let behaviour: SoakOrigin.Behaviour = random.next() % 2 == 0 ? .slow : .whole
        var order = order(name, behaviour)
        if case .object(var members) = order.json {
            members.removeAll { $0.name == "refresh" }
            order.json = .object(members + [.init("refresh", true)])
        }
        let arrival = run.origin.arrival(of: name.text)
        let request = order.json.utf8
        let talk = client.talk { connection -> HTTPReply? in
            let fields = client.fields.merging([.contentType: "application/json"])
            try connection.sendRequest("POST", "/download", fields: fields, body: request)
            if (try? arrival.waitBlocking(limit: .seconds(2))) != nil { return nil }
            // The request joined an earlier download of the URL, so no request reached the origin.
            return try connection.readReply()
        }
        switch talk {
        case .value(.none):
            run.tally.count("clients that left")
            client.hangUp(byReset: random.next() % 2 == 0)
            run.model.withLock { $0.letGo(name.text) }
        case .value(.some(let reply)):
            client.note(reply)
            settle(order, .value(reply))
        case .gone: settle(order, .gone)
        case .broken(let reason): settle(order, .broken(reason))
        }
    }
}
