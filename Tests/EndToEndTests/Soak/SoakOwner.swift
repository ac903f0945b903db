import HTTPTypes
import Primitives
import TestSupport

/// A worker with its own names. It makes one call after the other, and checks every response against the model.
///
/// Each worker runs on its own thread. The state that all workers share is in ``SoakRun``.
final class SoakOwner {
    let run: SoakRun
    let role: SoakRole
    let names: [SoakName]
    let client: SoakClient
    var random: SplitMix64
    /// The ETag from the last read of each name, and the version with this ETag.
    var tags: [String: (etag: String, version: Int)] = [:]
    /// The digests, by name and version.
    private var digests: [String: String] = [:]

    init(_ run: SoakRun, _ role: SoakRole) {
        self.run = run
        self.role = role
        names = SoakName.all(of: role)
        client = SoakClient(run, namespace: role.namespace)
        random = SplitMix64(seed: run.plan.seed &* 1000 &+ UInt64(role.number))
        run.model.withLock { model in
            for name in names { model.open(name.text, isPinned: role.isPinned) }
        }
    }

    var number: Int { role.number }
    var isPinned: Bool { role.isPinned }
    var isSlow: Bool { role.isSlow }

    /// Makes calls until the run ends.
    func work() {
        if let namespace = role.namespace { make(namespace) }
        while !run.ending.isOpen {
            step()
            run.pause(milliseconds: Int(random.next() % 30))
        }
    }

    private func step() {
        let name = names.randomElement(using: &random)!
        if let namespace = role.namespace, random.next() % 25 == 0 { return live(in: namespace, name) }
        switch random.next() % 100 {
        case 0: purge("prefix=\(prefix(of: name).percentEncoded)", names.filter { $0.isURL == name.isURL })
        case 1: if let tag = name.tag { purge("tag=\(tag)", names.filter { $0.tag == tag }) }
        case 2...5: remove(name)
        case 6...9: change(name)
        case 10...11: batch()
        case 12: cancel(name)
        case 13: leave(name)
        case 14...39: store(name)
        case 40...49: lookAt(name)
        default: read(name)
        }
    }

    /// The prefix of a purge that removes this name: the prefix of the worker's URLs, or of the worker's own keys.
    private func prefix(of name: SoakName) -> String {
        name.isURL ? run.origin.url(of: "w\(number)/") : role.keyPrefix
    }

    // MARK: - Storing

    private func store(_ name: SoakName) {
        switch name.kind {
        case .data: put(name)
        case .download: download(name)
        case .json: putJSON(name)
        }
    }

    private func put(_ name: SoakName) {
        let (ttl, version) = (ttl(), newVersion())
        let body = SoakBody.make(name.text, version)
        let target = "/entries/\(name.ownKey)/content?ttl=\(ttl)&tags=\(name.tag!)" + (isPinned ? "&pinned=true" : "")
        run.model.withLock { $0.begin([name.text], .store(.init(version: version, freshUntil: .infinity))) }
        let fields: HTTPFields = random.next() % 10 == 0 ? [.ifNoneMatch: "*"] : [:]
        let talk = isSlow ? putSlowly(target, body) : client.ask("PUT", target, fields: fields, body: body)
        settleStore(name, talk, version: version, ttl: ttl, "PUT \(target)")
    }

    /// Sends a body in small pieces, either in chunks or with a length.
    private func putSlowly(_ target: String, _ body: [UInt8]) -> SoakClient.Talk<HTTPReply> {
        let isChunked = random.next() % 2 == 0
        let talk = client.talk { connection in
            let framing: HTTPFields =
                isChunked ? [.transferEncoding: "chunked"] : [.contentLength: "\(body.count)"]
            try connection.sendRequest("PUT", target, fields: client.fields.merging(framing))
            let step = max(200, body.count / 20)
            for start in stride(from: 0, to: body.count, by: step) {
                let piece = Array(body[start..<min(body.count, start + step)])
                try connection.send(
                    isChunked ? Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + [0x0d, 0x0a] : piece)
                run.pause(milliseconds: 20)
            }
            if isChunked { try connection.send("0\r\n\r\n") }
            return try connection.readReply()
        }
        if case .value(let reply) = talk { client.note(reply) }
        return talk
    }

    private func putJSON(_ name: SoakName) {
        let (ttl, version) = (ttl(), newVersion())
        let target = "/json?url=\(run.origin.url(of: name.text).percentEncoded)&ttl=\(ttl)"
        run.model.withLock { $0.begin([name.text], .store(.init(version: version, freshUntil: .infinity))) }
        let talk = client.ask(
            "PUT", target, fields: [.contentType: "application/json"], body: SoakBody.make(name.text, version))
        settleStore(name, talk, version: version, ttl: ttl, "PUT \(target)")
    }

    private func settleStore(
        _ name: SoakName, _ talk: SoakClient.Talk<HTTPReply>, version: Int, ttl: Int, _ what: String
    ) {
        guard let reply = conclude([name], talk, what, [200, 412]) else { return }
        if reply.status == 412 {
            // The request has If-None-Match: *, so 412 is right only if the name holds an entry.
            run.model.withLock { $0.end([name.text], .refused) }
            let mayHold = run.model.withLock { !$0.candidates(name.text).isEmpty }
            return mayHold ? () : fail("\(what): 412, although the name can hold no entry")
        }
        guard entryDigest(reply) == digest(name.text, version) else {
            return fail("\(what) was answered with another digest: \(reply.text)")
        }
        let end = run.now + Double(ttl)
        judge(run.model.withLock { $0.settle(name.text, version: version, freshUntil: end) }, what)
    }

    // MARK: - Changing and removing

    private func change(_ name: SoakName) {
        let ttl = ttl()
        let key = key(of: name)
        run.model.withLock { $0.begin([name.text], .retime(.infinity)) }
        let talk = client.ask("PATCH", "/entries/\(key)", json: ["ttl": .number(ttl)])
        guard let reply = conclude([name], talk, "PATCH of \(name.text)", [200, 404]) else { return }
        if reply.status == 404 {
            run.model.withLock { $0.end([name.text], .refused) }
            return found(nil, name, "PATCH")
        }
        let end = run.now + Double(ttl)
        run.model.withLock { model in
            model.begin([name.text], .retime(end))
            model.end([name.text], .done)
        }
    }

    private func remove(_ name: SoakName) {
        let wasHeld = run.model.withLock { $0.verdict(name.text, found: nil, at: nil) }
        run.model.withLock { $0.begin([name.text], .remove) }
        let what = "DELETE of \(name.text)"
        guard let reply = conclude([name], client.ask("DELETE", "/entries/\(key(of: name))"), what, [200, 404]) else {
            return
        }
        run.model.withLock { $0.end([name.text], .done) }
        if reply.status == 404 { judge(wasHeld, what) }
    }

    private func purge(_ filter: String, _ names: [SoakName]) {
        let texts = names.map(\.text)
        let most = run.model.withLock { model in texts.count { !model.candidates($0).isEmpty } }
        run.model.withLock { $0.begin(texts, .remove) }
        guard let reply = conclude(names, client.ask("DELETE", "/entries?\(filter)"), "purge of \(filter)") else {
            return
        }
        run.model.withLock { $0.end(texts, .done) }
        let removed = (try? reply.member("removed")?.doubleValue).map { Int($0) } ?? -1
        if !(0...most).contains(removed) {
            fail("the purge of \(filter) removed \(removed) of at most \(most) entries: \(reply.text)")
        }
    }

    // MARK: - Parts of all calls

    /// Returns the response, if its status says that the call was done. Otherwise returns `nil`, tells the model the
    /// outcome, and records an unexpected response as a problem.
    ///
    /// - Parameter mayFail: whether the call may fail with 502 or 504, as with a failing origin.
    func conclude(
        _ names: [SoakName], _ talk: SoakClient.Talk<HTTPReply>, _ what: String, _ good: Set<Int> = [200],
        mayFail: Bool = false
    ) -> HTTPReply? {
        let texts = names.map(\.text)
        switch talk {
        case .gone:
            run.model.withLock { $0.end(texts, .unknown) }
            return nil
        case .broken(let reason):
            run.model.withLock { $0.end(texts, .unknown) }
            fail("\(what): \(reason)")
            return nil
        case .value(let reply) where good.contains(reply.status): return reply
        case .value(let reply):
            // A call may fail if the disk is full or the server drains. A failed purge may have removed some entries,
            // because a purge removes entries in several steps.
            let isExcused = reply.status == 507 || (reply.status == 503 && run.server.life?.isEnding != false)
            let isPurge = run.model.withLock { $0.isRemoving(texts) }
            run.model.withLock { $0.end(texts, isPurge ? .unknown : .refused) }
            if !isExcused, !(mayFail && [502, 504].contains(reply.status)) {
                fail("\(what): \(reply.status) \(reply.text.prefix(300))")
            }
            return nil
        }
    }

    /// Checks a response against the model. `version` is the version of the name in the response; `nil` if the response
    /// says that the name has no entry.
    func found(_ version: Int?, _ name: SoakName, at time: Double? = nil, _ what: String) {
        judge(run.model.withLock { $0.verdict(name.text, found: version, at: time) }, what)
    }

    func judge(_ verdict: String?, _ what: String) {
        if let verdict { fail("\(what): \(verdict)") }
    }

    func fail(_ problem: String) { run.fail("worker \(number): \(problem)") }

    func newVersion() -> Int { run.model.withLock { $0.newVersion() } }

    /// A random ttl. Some ttls are short, so that entries expire. A pinned entry never expires during the run.
    func ttl() -> Int {
        if isPinned { return 1_000_000 }
        return random.next() % 5 == 0 ? 1 + Int(random.next() % 4) : 100 + Int(random.next() % 1000)
    }

    /// The key of the entry with this name.
    func key(of name: SoakName) -> String { name.isURL ? md5(run.origin.url(of: name.text)) : name.ownKey }

    func digest(_ name: String, _ version: Int) -> String {
        let place = "\(name) \(version)"
        if let known = digests[place] { return known }
        if digests.count > 2000 { digests = [:] }
        let digest = SoakBody.digest(SoakBody.make(name, version))
        digests[place] = digest
        return digest
    }

    /// The digest of an entry in a JSON response.
    func entryDigest(_ reply: HTTPReply) -> String? { (try? reply.member("digest"))?.stringValue }

    /// The version with this digest, among the versions that a name may hold.
    func version(ofDigest digest: String?, _ name: String) -> Int? {
        run.model.withLock { $0.candidates(name) }.first { self.digest(name, $0) == digest }
    }
}
