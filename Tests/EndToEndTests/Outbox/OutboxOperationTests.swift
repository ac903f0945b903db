import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("Operating the outbox")
struct OutboxOperationTests {
    private static let json: HTTPFields = [.contentType: "application/json"]

    private func metric(_ name: String, _ server: TestServer) async throws -> Double? {
        let client = HTTPClient(port: try #require(server.api.adminPort))
        let text = try await client.request("GET", "/metrics").text
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line.flatMap { Double($0.dropFirst(name.count + 1)) }
    }

    @Test("A damaged outbox does not keep /explain from answering, and opens some seconds after the repair")
    func damage() async throws {
        let (directory, clock, port) = (try TemporaryDirectory(), ManualClock(), try RefusingPort())
        let file = URL(fileURLWithPath: directory.path("state/outbox.sqlite"))
        let url = "http://127.0.0.1:\(port.number)/a"
        let change = #"{"url": "\#(url)", "body": 1, "base": "absent"}"#
        try await TestServer.with(clock: clock, directory: directory) { (server) async throws in
            let reply = try await server.client.request("POST", "/outbox", fields: Self.json, text: change)
            #expect(reply.status == 202)
        }
        let whole = try Data(contentsOf: file)
        try Data(repeating: 7, count: 8192).write(to: file)
        let failing = #"larder_state_database_failing{database="outbox"}"#
        try await TestServer.with(clock: clock, directory: directory, configure: { $0.adminPort = 0 }) {
            (server) async throws in
            func changes() async throws -> JSON? {
                let reply = try await server.get("/explain?url=\(url.percentEncoded)")
                #expect(reply.status == 200, "\(reply.text)")
                return try reply.json["changes"]
            }
            #expect(try await changes() == .null)
            let reply = try await server.client.request("POST", "/outbox", fields: Self.json, text: change)
            #expect(reply.status == 500 && reply.text.contains("is damaged"), "\(reply.text)")
            try whole.write(to: file)
            // The file is not read again for each call.
            #expect(try await changes() == .null)
            #expect(try await metric(failing, server) == 1)
            clock.advance(by: .seconds(11))
            #expect(try await changes()?.arrayValue?.count == 1)
            #expect(try await metric(failing, server) == 0)
        }
    }

    @Test("The metrics count changes by state, their oldest age, and requests by outcome, also after a restart")
    func metrics() async throws {
        let port = try RefusingPort()
        let directory = try TemporaryDirectory()
        let clock = ManualClock()
        let url = "http://127.0.0.1:\(port.number)/a"
        try await TestServer.with(clock: clock, directory: directory, configure: { $0.adminPort = 0 }) {
            (server) async throws in
            #expect(try await metric("larder_outbox_oldest_age_seconds", server) == 0)
            let reply = try await server.client.request(
                "POST", "/outbox", fields: Self.json, text: #"{"url": "\#(url)", "body": 1, "base": "absent"}"#)
            #expect(reply.status == 202)
            try await poll("a request has failed") {
                try await metric(#"larder_outbox_sends_total{outcome="unreachable"}"#, server) != 0
            }
        }
        clock.advance(by: .seconds(90))
        try await TestServer.with(clock: clock, directory: directory, configure: { $0.adminPort = 0 }) {
            (server) async throws in
            // The listing waits until the outbox has been read.
            let listed = try await server.get("/outbox")
            let id = try #require(try listed.member("changes")?.arrayValue?.first?["id"])
            let place = "/outbox/\(id.text)"
            let age = try await metric("larder_outbox_oldest_age_seconds", server)
            #expect(age ?? 0 >= 90)
            try await server.cancelChange(place)
            #expect(try await metric(#"larder_outbox_changes{state="pending"}"#, server) == 0)
            #expect(try await metric(#"larder_outbox_ended_total{state="cancelled"}"#, server) == 1)
            #expect(try await metric("larder_outbox_oldest_age_seconds", server) == 0)
        }
    }

    @Test("/explain names the changes of the URL that have not ended, without their bodies")
    func explain() async throws {
        let port = try RefusingPort()
        let url = "http://127.0.0.1:\(port.number)/a"
        try await TestServer.with { (server) async throws in
            #expect(try await server.get("/explain?url=\(url.percentEncoded)").member("changes") == [])
            for body in ["1", "2"] {
                let text = #"{"url": "\#(url)", "body": \#(body), "base": "blind"}"#
                #expect(try await server.client.request("POST", "/outbox", fields: Self.json, text: text).status == 202)
            }
            let changes = try await server.get("/explain?url=\(url.percentEncoded)").member("changes")?.arrayValue ?? []
            #expect(changes.map { $0["id"] } == [1, 2])
            #expect(changes.allSatisfy { $0["method"] == "PUT" && $0["ours"] == nil })
            #expect(try await server.get("/explain?url=\((url + "b").percentEncoded)").member("changes") == [])
        }
    }

    @Test("The log has a line for each accepted change, decision and credential, without secrets")
    func audit() async throws {
        let port = try RefusingPort()
        let origin = "http://127.0.0.1:\(port.number)"
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(directory: directory.path("cache"))
        func call(_ method: String, _ path: String, _ text: String = "") async throws {
            let reply = try await poll {
                try await larder.client.request(method, path, fields: text.isEmpty ? [:] : Self.json, text: text)
            } until: {
                // A change that is just being tried cannot be decided about.
                $0.status != 409
            }
            #expect((200..<300).contains(reply.status), "\(method) \(path): \(reply.text)")
        }
        let credential = #"{"origins": ["\#(origin)"], "headers": {"Authorization": "Bearer hidden"}}"#
        let change = #"{"url": "\#(origin)/a?key=hidden", "body": "hidden", "base": "blind", "credential": "key"}"#
        try await call("PUT", "/credentials/key", credential)
        try await call("POST", "/outbox", change)
        try await call("GET", "/outbox/1")
        try await call("POST", "/outbox/1/retry")
        try await call("DELETE", "/outbox/1")
        try await call("DELETE", "/credentials/key")
        #expect(try await larder.stop() == .status(0))
        let words = larder.logLines("change").map {
            "\($0["operation"]?.stringValue ?? "") \($0["what"]?.stringValue ?? "")"
        }
        let shown = "change 1: PUT \(origin)/a?…"
        #expect(
            words == [
                "putCredential credential key", "sendChange \(shown)", "retryChange \(shown)", "cancelChange \(shown)",
                "removeCredential credential key",
            ])
        #expect(!larder.process.output.contains("hidden"))
    }
}
