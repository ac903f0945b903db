import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The field Prefer")
struct PreferTests {
    private static let prefer = HTTPField.Name("Prefer")!
    private static let applied = "Preference-Applied"

    /// The fields of a request with JSON, with one line of Prefer for each text.
    private func fields(_ lines: [String]) -> HTTPFields {
        var fields: HTTPFields = [.contentType: "application/json"]
        for line in lines { fields.append(HTTPField(name: Self.prefer, value: line)) }
        return fields
    }

    @Test("A capture that takes longer than Prefer: wait is answered with 202 and its location, and goes on")
    func waitEnds() async throws {
        let gate = Gate("the page")
        let origin = try PageOrigin.start(waits: gate, isHeld: { $0 == "/" })
        defer {
            gate.open()
            origin.stop()
        }
        try await TestServer.with { (server) async throws in
            let path = "/pages/\(md5(origin.url("/")))-page"
            let body: JSON = ["url": .string(origin.url("/"))]
            let early = try await server.client.request("POST", "/pages", fields: fields(["wait=1"]), body: body.utf8)
            #expect(early.status == 202 && early["Location"] == path && early[Self.applied] == "wait=1")
            #expect(try early.member("state") == "fetching")
            gate.open()
            try await poll("the end of the capture") { server.space.pages.runningCount == 0 }
            #expect(try await server.get(path).member("state") == "complete")
            #expect(origin.requestCount(of: "/") == 1)
        }
    }

    @Test(
        "Prefer: wait counts in any spelling of RFC 7240, and Preference-Applied says for how long the call waited",
        arguments: [
            (["wait=60"], "wait=60"), (["WAIT = 60"], "wait=60"), ([#"wait="60""#], "wait=60"),
            (["wait=60; x=1"], "wait=60"), ([#"x="a, wait=5", wait=60"#], "wait=60"), (["wait=60, wait=5"], "wait=60"),
            (["respond-async", "wait=60"], "wait=60"), (["wait=900"], "wait=300"),
            (["wait=99999999999999999999"], "wait=300"), (["wait"], nil), (["wait=0"], nil), (["wait=soon"], nil),
            (["wait=-1"], nil), ([#"x="a, wait=60, b""#], nil), (["respond-async"], nil), ([], nil),
        ] as [([String], String?)])
    func waits(_ lines: [String], _ expected: String?) async throws {
        let origin = try PageOrigin.start()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let body: JSON = ["url": .string(origin.url("/"))]
            let reply = try await server.client.request("POST", "/pages", fields: fields(lines), body: body.utf8)
            #expect(reply.status == (expected == nil ? 202 : 200), "\(lines)")
            #expect(reply[Self.applied] == expected, "\(lines)")
            try await poll("the end of the capture") { server.space.pages.runningCount == 0 }
        }
    }

    @Test("The problem of a capture for which the call has waited has Preference-Applied")
    func waitsForProblem() async throws {
        let origin = try PageOrigin.start()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let reply = try await server.capture(["url": .string(origin.url("/gone"))])
            #expect(reply.status == 502 && reply[Self.applied] == "wait=60")
            let refused = try await server.capture(["url": "ftp://127.0.0.1/"])
            #expect(refused.status == 403 && refused[Self.applied] == nil)
        }
    }

    @Test(
        "Prefer: respond-async counts as a member of the list, and not within the text of another preference",
        arguments: [
            (["respond-async"], true), (["Respond-Async; x=1, wait=9"], true), (["x=1", "respond-async"], true),
            ([#"x="a, respond-async, b""#], false), (["x; respond-async"], false), (["respond-asynchronously"], false),
        ] as [([String], Bool)])
    func respondsAsync(_ lines: [String], _ isAsync: Bool) async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let body: JSON = ["url": .string(origin.url("/"))]
            let reply = try await server.client.request("POST", "/download", fields: fields(lines), body: body.utf8)
            #expect(reply.status == (isAsync ? 202 : 200), "\(lines)")
            #expect(reply[Self.applied] == (isAsync ? "respond-async" : nil), "\(lines)")
        }
    }
}
