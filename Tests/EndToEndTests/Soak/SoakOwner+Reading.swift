import HTTPTypes
import TestSupport

/// The reads of an owner: complete, partial, conditional and slow reads of its own names.
extension SoakOwner {
    func read(_ name: SoakName) {
        let path = "/entries/\(key(of: name))/content"
        let choice = random.next() % 10
        if isSlow, choice < 5 { return readSlowly(name, path) }
        let time = run.now
        switch choice {
        case 0: readPart(name, path, "bytes=\(random.next() % 60)-\(60 + random.next() % 5000)", at: time)
        case 1: readPart(name, path, "bytes=-\(1 + random.next() % 60)", at: time)
        case 2...4 where tags[name.text] != nil: readIfChanged(name, path, at: time)
        case 5 where name.kind != .data:
            take(client.ask("GET", "/json?url=\(run.origin.url(of: name.text).percentEncoded)"), name, at: time)
        default: take(client.ask("GET", path), name, at: time)
        }
    }

    /// Checks a complete body, or a response for a missing entry, against the model.
    private func take(_ talk: SoakClient.Talk<HTTPReply>, _ name: SoakName, at time: Double) {
        guard let reply = answer(talk, name) else { return }
        if reply.status == 404 { return found(nil, name, "read of \(name.text)") }
        guard let version = SoakBody.version(of: reply.body, name.text) else {
            return damaged(name, reply, "body")
        }
        found(version, name, at: time, "read of \(name.text)")
        run.tally.hit()
        if let etag = reply["ETag"] { tags[name.text] = (etag, version) }
    }

    private func readPart(_ name: SoakName, _ path: String, _ range: String, at time: Double) {
        let talk = client.ask("GET", path, fields: [.range: range])
        guard let reply = answer(talk, name, [200, 206, 404]) else { return }
        if reply.status != 206 { return take(.value(reply), name, at: time) }
        // "bytes 7-50/5112"
        let numbers = (reply["Content-Range"] ?? "").split { !$0.isNumber }.compactMap { Int($0) }
        guard numbers.count == 3, numbers[1] - numbers[0] + 1 == reply.body.count else {
            return damaged(name, reply, "Content-Range \(reply["Content-Range"] ?? "none")")
        }
        let versions = run.model.withLock { $0.candidates(name.text) }.filter { version in
            let body = SoakBody.make(name.text, version)
            guard body.count == numbers[2], numbers[1] < body.count else { return false }
            return SoakBody.digest(Array(body[numbers[0]...numbers[1]])) == SoakBody.digest(reply.body)
        }
        guard let version = versions.first else { return damaged(name, reply, "part \(range)") }
        found(version, name, at: time, "read of \(range) of \(name.text)")
        run.tally.hit()
    }

    private func readIfChanged(_ name: SoakName, _ path: String, at time: Double) {
        guard let known = tags[name.text],
            let reply = answer(client.ask("GET", path, fields: [.ifNoneMatch: known.etag]), name, [200, 304, 404])
        else { return }
        if reply.status != 304 { return take(.value(reply), name, at: time) }
        found(known.version, name, at: time, "read of \(name.text) if it has changed")
        run.tally.hit()
    }

    /// Reads a body slowly.
    private func readSlowly(_ name: SoakName, _ path: String) {
        let time = run.now
        let talk = client.talk { connection in
            try connection.sendRequest("GET", path, fields: client.fields)
            var reply = try connection.readHead()
            let length = reply["Content-Length"].flatMap { Int($0) } ?? 0
            while reply.body.count < length {
                let step = min(length - reply.body.count, max(4000, length / 20))
                reply.body += try connection.read(step)
                run.pause(milliseconds: 20)
            }
            return reply
        }
        if case .value(let reply) = talk { client.note(reply) }
        take(talk, name, at: time)
    }

    /// Reads only the metadata.
    func lookAt(_ name: SoakName) {
        let talk = client.ask("GET", "/entries/\(key(of: name))")
        guard let reply = answer(talk, name) else { return }
        if reply.status == 404 { return found(nil, name, "look at \(name.text)") }
        guard let version = version(ofDigest: entryDigest(reply), name.text) else {
            return damaged(name, reply, "digest")
        }
        found(version, name, "look at \(name.text)")
    }

    /// The response to a read, if its status is expected.
    private func answer(
        _ talk: SoakClient.Talk<HTTPReply>, _ name: SoakName, _ expected: Set<Int> = [200, 404]
    ) -> HTTPReply? {
        switch talk {
        case .gone: return nil
        case .broken(let reason):
            fail("read of \(name.text): \(reason)")
            return nil
        case .value(let reply) where expected.contains(reply.status): return reply
        case .value(let reply):
            if reply.status != 503 || run.server.life?.isEnding == false {
                fail("read of \(name.text): \(reply.status) \(reply.text.prefix(300))")
            }
            return nil
        }
    }

    private func damaged(_ name: SoakName, _ reply: HTTPReply, _ what: String) {
        let claimed = SoakBody.claimedVersion(reply.body, name.text)
        let held = run.model.withLock { $0.candidates(name.text) }.sorted()
        fail(
            """
            read of \(name.text): \(what) of \(reply.body.count) bytes that says it is version \(claimed ?? -1) \
            is none of \(held): \(reply.head)
            """)
    }
}
