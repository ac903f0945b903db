import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The command larder watch")
struct WatchCommandTests {
    @Test(
        "The command larder watch prints an event immediately, and after a lost connection resumes behind the last event"
    )
    func lines() async throws {
        let gate = Gate("the second event")
        let server = try ScriptedOrigin { request, connection in
            try connection.startChunks(fields: [.contentType: "text/event-stream"])
            switch request.index {
            case 0:
                try connection.sendChunk(
                    "id: 1\nevent: entry.stored\ndata: {\"namespace\": \"default\", \"key\": \"a\"}\n\n")
                try gate.waitBlocking()
                try connection.sendChunk("retry: 1\nid: 2\nevent: reset\ndata: {}\n\n")
                try connection.endChunks()
            default:
                try connection.sendChunk("id: 3\nevent: entry.removed\ndata: {\"key\": \"a\"}\n\n")
                connection.waitForHangUp()
            }
        }
        defer {
            gate.open()
            server.stop()
        }
        let larder = ClientCommands(server: server.url(""))
        let run = try larder.start(["watch", "--type", "entry", "--tag", "t", "--namespace", "*"])
        try await poll("the first event") { run.text == "\tentry.stored\tdefault\ta\t\n" }
        gate.open()
        try await poll("the third event") { run.text.hasSuffix("\treset\t\t\t\n\tentry.removed\t\ta\t\n") }
        #expect(run.errors.contains("retrying in"), "\(run.errors)")
        run.process.kill(SIGINT)
        #expect(try await run.process.wait() == .signal(SIGINT))
        #expect(server.requests.map(\.target) == Array(repeating: "/events?namespace=*&tag=t&type=entry", count: 2))
        #expect(server.requests.map { $0["Last-Event-ID"] } == [nil, "2"])
        #expect(server.requests[0]["Larder-Namespace"] == nil)
    }

    @Test("The command larder watch ends with an error when the server is unreachable or refuses the request")
    func refused() async throws {
        let port = try RefusingPort()
        #expect(try await ClientCommands(server: port.url("")).run(["watch"]).exit == .status(69))
        let server = try ScriptedOrigin { _, connection in
            try connection.respond(
                403, fields: [.contentType: "application/problem+json"],
                body: #"{"status": 403, "detail": "the token lacks the scope read; use a token that has it"}"#)
        }
        defer { server.stop() }
        let refused = try await ClientCommands(server: server.url("")).run(["watch"])
        #expect(refused.exit == .status(77) && refused.errors.contains("scope read"))
    }
}
