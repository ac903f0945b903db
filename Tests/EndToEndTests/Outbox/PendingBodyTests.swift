import Foundation
import HTTPTypes
import Larder
import Primitives
import TestSupport
import Testing

@testable import LarderAPI

@Suite("Bodies with pending changes")
struct PendingBodyTests {
    private static let json: HTTPFields = [.contentType: "application/json"]

    /// A URL of an origin that refuses connections, so that changes stay pending.
    private struct Offline {
        let port: RefusingPort
        let url: String
        let encodedURL: String
        var key: String { md5(url) }
        var content: String { "/entries/\(key)/content" }
        var json: String { "/json?url=\(encodedURL)" }

        init() throws {
            port = try RefusingPort()
            url = "http://127.0.0.1:\(port.number)/note"
            encodedURL = url.percentEncoded
        }

        func store(_ body: String, _ server: TestServer) async throws {
            let reply = try await server.client.request(
                "PUT", json, fields: PendingBodyTests.json, text: body)
            #expect(reply.status == 200)
        }

        /// Returns the path of the new change.
        func change(_ members: String, _ server: TestServer) async throws -> String {
            let reply = try await server.client.request(
                "POST", "/outbox", fields: PendingBodyTests.json, text: #"{"url": "\#(url)", \#(members)}"#)
            #expect(reply.status == 202, "\(reply.text)")
            return try #require(reply["Location"])
        }
    }

    @Test("A token without the scope send gets the body without changes that have a credential")
    func credential() async throws {
        let offline = try Offline()
        let tokens = try TestTokens([.init(name: "owner"), .init(name: "reader", scopes: [.read])])
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            func call(_ name: String, _ method: String, _ target: String, _ text: String = "") async throws -> HTTPReply
            {
                var fields = tokens.fields(name, for: target)
                fields[.contentType] = "application/json"
                return try await server.client.request(method, target, fields: fields, text: text)
            }
            #expect(try await call("owner", "PUT", offline.json, #"{"a":1}"#).status == 200)
            let place = "http://127.0.0.1:\(offline.port.number)"
            let credential = #"{"origins": ["\#(place)"], "headers": {"Authorization": "x"}}"#
            #expect(try await call("owner", "PUT", "/credentials/work", credential).status / 100 == 2)
            let change = #"{"url": "\#(offline.url)", "patch": {"a": 2}, "credential": "work"}"#
            #expect(try await call("owner", "POST", "/outbox", change).status == 202)
            for target in [offline.json, offline.content] {
                #expect(try await call("owner", "GET", target).text == #"{"a":2}"#)
                let reply = try await call("reader", "GET", target)
                #expect(reply.text == #"{"a":1}"# && reply["Larder-Pending"] == nil)
            }
        }
    }

    @Test("Readers get the body with a pending change, another tag and the number of changes, and not the ready answer")
    func ready() async throws {
        let offline = try Offline()
        try await TestServer.with { (server) async throws in
            try await offline.store(#"{"a":1,"b":1}"#, server)
            for path in [offline.content, offline.json] {
                for _ in 0..<3 { #expect(try await server.get(path).text == #"{"a":1,"b":1}"#) }
            }
            let old = try await server.get(offline.content)
            #expect(old["Larder-Pending"] == nil)
            let place = try await offline.change(#""patch": {"a": 2}"#, server)
            for path in [offline.content, offline.json, offline.content] {
                let reply = try await server.get(path)
                #expect(reply.text == #"{"a":2,"b":1}"#)
                #expect(reply["Larder-Pending"] == "1")
                #expect(reply["ETag"] != old["ETag"])
                #expect(reply["Cache-Control"] == "no-cache")
                #expect(reply["Content-Type"] == "application/json")
            }
            for path in [offline.content + "?view=remote", offline.json + "&view=remote"] {
                let reply = try await server.get(path)
                #expect(reply.text == #"{"a":1,"b":1}"#)
                #expect(reply["Larder-Pending"] == nil)
                #expect(reply["ETag"] == old["ETag"])
            }
            try await server.cancelChange(place)
            for _ in 0..<3 {
                let reply = try await server.get(offline.content)
                #expect(reply.text == #"{"a":1,"b":1}"#)
                #expect(reply["Larder-Pending"] == nil)
                #expect(reply["ETag"] == old["ETag"])
            }
            #expect(try await server.get(offline.content + "?view=other").status == 400)
        }
    }

    @Test("Conditions and ranges apply to the body with the pending changes")
    func conditions() async throws {
        let offline = try Offline()
        try await TestServer.with { (server) async throws in
            try await offline.store(#"{"a":1}"#, server)
            _ = try await offline.change(#""body": {"a": 22}"#, server)
            let tag = try #require(try await server.get(offline.content)["ETag"])
            let unchanged = try await server.get(offline.content, fields: [.ifNoneMatch: tag])
            #expect(unchanged.status == 304)
            #expect(unchanged["Larder-Pending"] == "1")
            let part = try await server.get(offline.content, fields: [.range: "bytes=1-3"])
            #expect(part.status == 206)
            #expect(part.text == #""a""#)
            let head = try await server.client.request("HEAD", offline.content)
            #expect(head["Content-Length"] == "8")
            #expect(head["Larder-Pending"] == "1")
        }
    }

    @Test("A URL without an entry has the body of its pending change, and a purge leaves the change")
    func purge() async throws {
        let offline = try Offline()
        try await TestServer.with { (server) async throws in
            #expect(try await server.get(offline.content).status == 404)
            _ = try await offline.change(#""text": "mine", "base": "absent""#, server)
            let reply = try await server.get(offline.content)
            #expect(reply.text == "mine")
            #expect(reply["Content-Type"] == "text/plain; charset=utf-8")
            #expect(try await server.get(offline.json).status == 406)
            #expect(try await server.get(offline.content + "?view=remote").status == 404)
            try await offline.store(#"{"a":1}"#, server)
            #expect(try await server.client.request("DELETE", "/entries/\(offline.key)").status == 200)
            #expect(try await server.get(offline.content).text == "mine")
        }
    }

    @Test("A pending DELETE hides the entry, and a later change shows the resource again")
    func deletion() async throws {
        let offline = try Offline()
        try await TestServer.with { (server) async throws in
            try await offline.store(#"{"a":1}"#, server)
            _ = try await offline.change(#""method": "DELETE""#, server)
            for path in [offline.content, offline.json] {
                let reply = try await server.get(path)
                #expect(reply.status == 404)
                #expect(reply["Larder-Pending"] == "1")
            }
            #expect(try await server.get(offline.json + "&view=remote").text == #"{"a":1}"#)
            // The author of this change sees no resource, so the change creates it.
            let place = try await offline.change(#""body": {"a": 2}"#, server)
            #expect(try await server.get(place).member("base") == "absent")
            let reply = try await server.get(offline.json)
            #expect(reply.text == #"{"a":2}"#)
            #expect(reply["Larder-Pending"] == "2")
        }
    }

    @Test("The base of a second change is the body with the first, by default and by the tag of this body")
    func base() async throws {
        let offline = try Offline()
        try await TestServer.with { (server) async throws in
            try await offline.store(#"{"a":1}"#, server)
            let old = try #require(try await server.get(offline.content)["ETag"])
            _ = try await offline.change(#""patch": {"a": 2}"#, server)
            let tag = try #require(try await server.get(offline.content)["ETag"])
            let second = try await offline.change(#""patch": {"b": 2}"#, server)
            #expect(try await server.get(second).member("seen", "text") == #"{"a":2}"#)
            #expect(try await server.get(offline.content).text == #"{"a":2,"b":2}"#)
            // The tag of the first body names no present body, but the tag of the entry does.
            let request: JSON = ["url": .string(offline.url), "body": 1, "base": .string(tag)]
            let stale = try await server.client.request("POST", "/outbox", fields: Self.json, text: request.text)
            #expect(stale.status == 409)
            let remote = try await offline.change(#""patch": {"c": 3}, "base": \#(JSON.string(old).text)"#, server)
            #expect(try await server.get(remote).member("seen", "text") == #"{"a":1}"#)
            #expect(try await server.get(offline.content).text == #"{"a":2,"b":2,"c":3}"#)
        }
    }

    @Test("A POST has no effect on the body of its URL, and leaves its answer at hand")
    func post() async throws {
        let offline = try Offline()
        try await TestServer.with { (server) async throws in
            try await offline.store(#"{"a":1}"#, server)
            _ = try await offline.change(#""method": "POST", "text": "x""#, server)
            #expect(try await server.get(offline.content)["Larder-Pending"] == nil)
        }
    }

    @Test("Pending changes are in the bodies after a restart, from the first request on")
    func restart() async throws {
        let offline = try Offline()
        let directory = try TemporaryDirectory()
        try await TestServer.with(directory: directory) { (server) async throws in
            try await offline.store(#"{"a":1}"#, server)
            _ = try await offline.change(#""patch": {"a": 2}"#, server)
        }
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await server.get(offline.content).text == #"{"a":2}"#)
        }
    }

    @Test("Changes of one namespace are in the bodies of this namespace only")
    func namespaces() async throws {
        let offline = try Offline()
        try await TestServer.with { (server) async throws in
            let made = try await server.client.request("PUT", "/namespaces/other", fields: Self.json, text: "{}")
            #expect(made.status < 300)
            _ = try await offline.change(#""text": "mine", "base": "absent""#, server)
            #expect(try await server.get(offline.content).text == "mine")
            #expect(try await server.get("/@other" + offline.content).status == 404)
        }
    }
}
