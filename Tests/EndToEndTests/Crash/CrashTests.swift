import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// Kills the real executable with signal 9 in the middle of its work. `scripts/test` runs this suite alone.
@Suite("Crashes by kill -9 under load", .serialized)
struct CrashTests {
    /// The number of rounds, from `LARDER_CRASH_ROUNDS`. Default: 20.
    static let rounds = ProcessInfo.processInfo.environment["LARDER_CRASH_ROUNDS"].flatMap { Int($0) } ?? 20

    @Test(
        "After kill -9, acknowledged entries are whole, no removed entry is back, and verify finds no damage",
        arguments: ["hashed", "readable"])
    func crashes(layout: String) async throws {
        let run = try CrashRun(layout: layout)
        defer { run.origin.stop() }
        for round in 0..<max(1, Self.rounds / 2) {
            try await run.round(round)
            if let problem = run.problems.elements.first {
                Issue.record("round \(round), \(layout): \(problem)")
                return
            }
        }
        #expect(run.acknowledged.value > 0)
    }
}

/// A cache directory that survives many crashes.
private final class CrashRun: Sendable {
    static let workers = 6

    let layout: String
    let directory: TemporaryDirectory
    let ledger = CrashLedger()
    let origin: ScriptedOrigin
    let problems = Recorder<String>()
    let acknowledged = Counter("acknowledged calls")

    init(layout: String) throws {
        self.layout = layout
        directory = try TemporaryDirectory("larder-crash")
        let ledger = ledger
        // Some bodies stop after their first half, so that each kill finds unfinished downloads. Only some workers get
        // such bodies, because the other workers must go on.
        origin = try ScriptedOrigin { request, connection in
            let name = String(request.target.dropFirst(3))
            let body = CrashBody.make(name: name, version: ledger.pendingVersion(name) ?? 0)
            try connection.sendHead(fields: [.contentLength: String(body.count)])
            try connection.send(body.prefix(body.count / 2))
            let version = ledger.pendingVersion(name) ?? 0
            if ["w0", "w1", "w2"].contains(name.prefix(2)), version % 10 == 0 { return connection.waitForHangUp() }
            try connection.send(body.dropFirst(body.count / 2))
        }
    }

    func round(_ number: Int) async throws {
        let path = directory.path("cache")
        let arguments = ["--layout", layout, "--inline-limit", "4KiB"]
        let victim = try await LarderProcess(directory: path, arguments: arguments)
        var random = SplitMix64(seed: UInt64(number) &+ 1)
        let target = acknowledged.value + 20 + Int(random.next() % 150)
        for worker in 0..<Self.workers {
            startThread { [self] in work(worker, round: number, port: victim.port) }
        }
        try await acknowledged.wait(for: target)
        try await victim.crash()

        let survivor = try await LarderProcess(directory: path, arguments: arguments)
        try await settle(survivor)
        #expect(try await survivor.stop() == .status(0))
        let verified = try await LarderProcess.verify(path)
        if verified.exit != .status(0) { problems.append("verify: \(verified.text)") }
    }

    /// Makes one call after another on the worker's own names, until the server is killed.
    private func work(_ number: Int, round: Int, port: UInt16) {
        var worker = CrashWorker(
            number: number, ledger: ledger, origin: origin.url("/d/"),
            random: SplitMix64(seed: UInt64(round * 100 + number)))
        guard let connection = try? RawConnection(port: port) else { return }
        do {
            while true {
                let call = worker.next()
                ledger.begin(call.names, call.content)
                try connection.sendRequest(
                    call.method, call.target, fields: call.json == nil ? [:] : [.contentType: "application/json"],
                    body: call.json?.utf8 ?? call.body)
                let reply = try connection.readReply()
                guard try call.isAnswered(by: reply) else {
                    problems.append("\(call.method) \(call.target): \(reply.status) \(reply.text)")
                    return
                }
                ledger.acknowledge(call.names)
                acknowledged.add()
            }
        } catch {
            // The server was killed. The ledger keeps the unanswered call as pending.
        }
    }

    /// Compares all names with the ledger.
    private func settle(_ server: LarderProcess) async throws {
        try await server.client.withConnection { [self] connection in
            for name in ledger.names {
                let path = "/entries/" + (CrashName.isURL(name) ? md5(origin.url("/d/" + name)) : name)
                try connection.sendRequest("GET", path)
                let entry = try connection.readReply()
                try connection.sendRequest("GET", path + "/content")
                let body = try connection.readReply()
                var found: CrashLedger.Content?
                switch (entry.status, body.status) {
                case (200, 200):
                    let ttl = try entry.member("expiresInSeconds")?.doubleValue.map { Int($0) }
                    if let version = CrashBody.version(of: body.body, name: name), let ttl {
                        found = .init(version: version, ttl: ttl)
                    } else {
                        problems.append("\(name): the body is damaged")
                    }
                case (404, 404): break
                default: problems.append("\(name): \(entry.status), \(body.status) \(body.text.prefix(200))")
                }
                if let problem = ledger.settle(name, found: found) { problems.append(problem) }
            }
        }
    }
}
