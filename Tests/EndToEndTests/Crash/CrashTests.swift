import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// Promises 1 to 3 of the design, against the real executable and signal 9. `scripts/test` runs it with nothing beside
/// it.
@Suite("kill -9 under load", .serialized)
struct CrashTests {
    /// `LARDER_CRASH_ROUNDS` rounds in all; without it 20.
    static let rounds = ProcessInfo.processInfo.environment["LARDER_CRASH_ROUNDS"].flatMap { Int($0) } ?? 20

    @Test(
        "whatever was acknowledged is whole, nothing deleted is back, verify is clean",
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

/// One cache directory that is crashed on again and again.
private final class CrashRun: Sendable {
    static let workers = 6
    static let namesPerWorker = 8

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
        // Of some bodies the second half never comes, so that each kill finds downloads unfinished. Not of those of every
        // worker: somebody has to go on.
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

    /// Calls on names that only this worker uses, one after another, until the server is gone.
    private func work(_ worker: Int, round: Int, port: UInt16) {
        var random = SplitMix64(seed: UInt64(round * 100 + worker))
        guard let connection = try? RawConnection(port: port) else { return }
        do {
            while true {
                let number = Int(random.next() % UInt64(Self.namesPerWorker))
                let isDownload = random.next() % 3 == 0
                let isDelete = random.next() % 5 == 0
                // Names that lie inside one another in the readable layout: /d/n1 beside /d/n1/1.
                let name = isDownload ? "w\(worker)/\(number % 4)" + (number >= 4 ? "/x" : "") : "w\(worker)-\(number)"
                let key = isDownload ? md5(origin.url("/d/" + name)) : name
                let content: CrashLedger.Content = isDelete ? nil : ledger.newVersion()
                ledger.begin(name, content)
                if isDelete {
                    try connection.sendRequest("DELETE", "/entries/\(key)")
                } else if isDownload {
                    let body: JSON = ["url": .string(origin.url("/d/" + name)), "ttl": 100_000, "refresh": true]
                    try connection.sendRequest(
                        "POST", "/download", fields: [.contentType: "application/json"], body: body.utf8)
                } else {
                    try connection.sendRequest(
                        "PUT", "/entries/\(key)/content?ttl=100000",
                        body: CrashBody.make(name: name, version: content!))
                }
                let reply = try connection.readReply()
                guard reply.status == 200 || (isDelete && reply.status == 404) else {
                    problems.append("\(name): \(reply.status) \(reply.text)")
                    return
                }
                ledger.acknowledge(name)
                acknowledged.add()
            }
        } catch {
            // The server is gone: what was under way stays pending in the ledger.
        }
    }

    /// Compares everything with the ledger.
    private func settle(_ server: LarderProcess) async throws {
        try await server.client.withConnection { [self] connection in
            for name in ledger.names {
                let key = name.contains("/") ? md5(origin.url("/d/" + name)) : name
                try connection.sendRequest("GET", "/entries/\(key)/content?stale=true")
                let reply = try connection.readReply()
                var found: CrashLedger.Content
                switch reply.status {
                case 200:
                    found = CrashBody.version(of: reply.body, name: name)
                    if found == nil { problems.append("\(name): the body is damaged") }
                case 404: found = nil
                default:
                    found = nil
                    problems.append("\(name): \(reply.status) \(reply.text)")
                }
                if let problem = ledger.settle(name, found: found) { problems.append(problem) }
            }
        }
    }
}
