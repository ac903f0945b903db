import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Settings, versions and removal of namespaces")
struct NamespaceLifeTests {
    @Test("The settings of a namespace are shown, are kept by a PUT that omits them, and survive a restart")
    func settings() async throws {
        let directory = try TemporaryDirectory()
        try await TestServer.with(directory: directory) { (server) async throws in
            let made = try await server.putNamespace(
                "a",
                [
                    "version": 7, "defaultTTL": .number("1.5"), "diskLimit": "64MiB", "memoryLimit": 1_000_000,
                    "layout": "readable", "contentCaching": "untilExpiry",
                ])
            #expect(made.status == 200)
            let expected: JSON = [
                "name": "a", "version": "7", "defaultTTL": .number("1.5"), "diskLimit": 67_108_864,
                "memoryLimit": 1_000_000,
                "layout": "readable", "origins": .null, "contentCaching": "untilExpiry", "entries": 0, "diskBytes": 0,
                "memoryBytes": 0,
            ]
            #expect(try made.json == expected)
            #expect(try await server.putNamespace("a").json == expected)
            #expect(try await server.get("/namespaces/a").json == expected)
            let put = try await server.inNamespace("a").request("PUT", "/entries/k/content", text: "x")
            #expect(try put.member("expiresInSeconds") == .number("1.5"))
            #expect(try put.member("localPath")?.stringValue?.contains("/a.1/") == true)
            #expect(try await server.putNamespace("a", ["defaultTTL": .null]).member("defaultTTL") == 604_800)
            #expect(try await server.get("/namespaces/default").member("diskLimit") == .number((10 << 30) - (64 << 20)))
            #expect(try await server.get("/namespaces/none").status == 404)
            #expect(try await server.get("/namespaces/No").status == 400)
        }
        try await TestServer.with(directory: directory) { (server) async throws in
            let names = try await server.get("/namespaces").member("namespaces")?.arrayValue?.compactMap { $0["name"] }
            #expect(names == ["a", "default"])
            #expect(try await server.get("/namespaces/a").member("version") == "7")
            #expect(try await server.inNamespace("a").get("/entries/k/content?stale=true").text == "x")
            #expect(try await server.get("/entries/k").status == 404)
            #expect(try await server.client.request("DELETE", "/namespaces/a").member("removed") == 1)
            #expect(try await server.inNamespace("a").get("/entries").status == 404)
            #expect(try await server.client.request("DELETE", "/namespaces/a").status == 404)
            #expect(try await server.client.request("DELETE", "/namespaces/default").status == 409)
            try await poll("the directory to go") { try server.namespaceDirectories == ["default"] }
            // The removed namespace keeps its disk limit until its directory is deleted.
            try await poll("the room to be given back") { server.space.cache.diskLimit == 10 << 30 }
            #expect(try await server.get("/namespaces/default").member("diskLimit") == .number(10 << 30))
            // A new namespace of the same name has no entries.
            #expect(try await server.putNamespace("a").member("entries") == 0)
            #expect(try await server.inNamespace("a").count == 0)
        }
    }

    @Test(
        "Invalid settings of a namespace get an error with a pointer to the invalid member",
        arguments: [
            (#"{"version": ""}"#, "/version"), (#"{"version": true}"#, "/version"),
            (#"{"defaultTTL": -1}"#, "/defaultTTL"),
            (#"{"defaultTTL": "x"}"#, "/defaultTTL"), (#"{"diskLimit": -1}"#, "/diskLimit"),
            (#"{"diskLimit": 1.5}"#, "/diskLimit"), (#"{"memoryLimit": "1 GiB"}"#, "/memoryLimit"),
            (#"{"layout": "flat"}"#, "/layout"), (#"{"origins": "x"}"#, "/origins"),
            (#"{"origins": [1]}"#, "/origins/0"),
            (#"{"limit": 1}"#, "/limit"), ("[]", ""), ("{", ""),
        ] as [(String, String)])
    func malformed(_ body: String, _ pointer: String) async throws {
        try await TestServer.with { (server) async throws in
            let reply = try await server.client.request(
                "PUT", "/namespaces/a", fields: [.contentType: "application/json"], text: body)
            #expect(reply.status == 400, "\(body): \(reply.text)")
            #expect(try reply.member("pointer")?.stringValue == pointer, "\(body)")
            #expect(try await server.get("/namespaces/a").status == 404)
        }
    }

    @Test("A new version empties the namespace immediately, on disk and in ready answers, and frees the disk space")
    func begunAnew() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(fields: [.cacheControl: "max-age=1000"], body: "\(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for name in ["default", "a"] {
                try await server.putNamespace(name, ["version": "1"])
                let space = server.inNamespace(name)
                let url = origin.url("/\(name)")
                #expect(try await space.request("PUT", "/entries/k/content", text: "old").status == 200)
                #expect(
                    try await space.request(
                        "PUT", "/entries/large/content", text: String(repeating: "x", count: 100_000)
                    ).status == 200)
                let first = try await space.get("/fetch/" + url).text
                for _ in 0..<4 {
                    #expect(try await space.get("/entries/k/content").text == "old")
                    #expect(try await space.get("/fetch/" + url).text == first)
                }
                // A PUT of the present version removes no entry.
                #expect(try await server.putNamespace(name, ["version": "1"]).member("entries") == 3)
                let anew = try await server.putNamespace(name, ["version": "2"])
                #expect(try anew.member("entries") == 0)
                #expect(try await space.get("/entries/k/content").status == 404)
                #expect(try await space.count == 0)
                #expect(try await space.get("/fetch/" + url).text != first)
                #expect(try await space.request("PUT", "/entries/k/content", text: "new").status == 200)
                for _ in 0..<4 { #expect(try await space.get("/entries/k/content").text == "new") }
            }
            try await poll("the old directories to go") { try server.namespaceDirectories.count == 2 }
            #expect(try await server.get("/namespaces/default").member("diskLimit") == .number((10 << 30) * 9 / 10))
        }
    }

    @Test("If a download runs during a version change, its waiters get their answer, and no entry is stored")
    func runningDownload() async throws {
        try await TestServer.withGatedOrigin { server, origin, gate in
            try await server.putNamespace("a", ["version": "1"])
            let space = server.inNamespace("a")
            async let reply = space.request("POST", "/download", text: #"{"url": "\#(origin.url("/x"))"}"#)
            async let fetched = space.get("/fetch/" + origin.url("/y"))
            try await poll("both requests") { origin.requestCount == 2 }
            try await server.putNamespace("a", ["version": "2"])
            gate.open()
            #expect(try await reply.member("outcome") == "downloaded")
            #expect(try await fetched.text == "/y")
            #expect(try await space.count == 0)
            #expect(try await space.get("/downloads").member("downloads")?.arrayValue?.isEmpty == true)
            try await poll("the old directory to go") { try server.namespaceDirectories == ["a.2", "default"] }
            #expect(try await space.count == 0)
        }
    }

    @Test(
        "A request with a slow body uses the namespace version that was current when the request began")
    func slowRequest() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            try await server.putNamespace("a", ["version": "1"])
            let space = server.inNamespace("a")
            try await space.request("PUT", "/entries/k/content", text: "x")
            let port = server.api.port
            let body = Array(#"{"url": "\#(origin.url("/x"))"}"#.utf8)
            let slow = try await blocking {
                let connection = try RawConnection(port: port)
                try connection.send(
                    """
                    POST /download HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r
                    Larder-Namespace: a\r\nContent-Length: \(body.count)\r\n\r\n
                    """ + "{")
                return connection
            }
            // The answer to this later request shows that the server has read the head of the slow request.
            #expect(try await space.get("/entries/k/content").text == "x")
            try await server.putNamespace("a", ["version": "2"])
            #expect(try await server.putNamespace("a", ["version": "3"]).status == 200)
            try await poll("the removal of a.2") { try server.namespaceDirectories == ["a.1", "a.3", "default"] }
            let reply = try await blocking {
                try slow.send(body.dropFirst())
                return try slow.readReply()
            }
            #expect(reply.status == 200)
            #expect(try reply.member("outcome") == "downloaded")
            #expect(try await space.count == 0)
            try await blocking { slow.close() }
            try await poll("the old directory to go") { try server.namespaceDirectories == ["a.3", "default"] }
        }
    }

    @Test("All downloads of a batch use the namespace version that was current when the batch began")
    func batch() async throws {
        try await TestServer.withGatedOrigin { server, origin, gate in
            try await server.putNamespace("a", ["version": "1"])
            let space = server.inNamespace("a")
            // The batch has more items than the server downloads at the same time.
            let urls = (0..<600).map { #"{"url": "\#(origin.url("/\($0)"))"}"# }
            async let lines = space.request("POST", "/downloads", text: "[\(urls.joined(separator: ","))]")
            try await poll("the first download") { origin.requestCount > 0 }
            #expect(try await server.putNamespace("a", ["version": "2"]).status == 200)
            gate.open()
            let outcomes = try await lines.text.split(separator: "\n").map {
                try JSON(parsing: Array($0.utf8))["outcome"]
            }
            #expect(outcomes.count == 600)
            #expect(outcomes.allSatisfy { $0 == "downloaded" })
            #expect(try await space.count == 0)
            try await poll("the old directory to go") { try server.namespaceDirectories == ["a.2", "default"] }
        }
    }

    @Test("Ended versions and removed namespaces leave no open descriptors, and their hits stay in the statistics")
    func leavesNothing() async throws {
        try await TestServer.with { (server) async throws in
            func hits() async throws -> Double { try await server.get("/stats").member("hits")?.doubleValue ?? -1 }
            func use(_ version: Int) async throws {
                try await server.putNamespace("a", ["version": .number(version)])
                let space = server.inNamespace("a")
                try await space.request("PUT", "/entries/k/content", text: "x")
                for _ in 0..<5 { #expect(try await space.get("/entries/k/content").text == "x") }
            }
            func open() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter { name in
                    let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
                    return path?.contains(server.directory.path("cache")) == true
                }.count
            }
            try await use(0)
            var (counted, files) = (try await hits(), try open())
            for version in 1..<20 {
                try await use(version)
                let now = try await hits()
                #expect(now >= counted + 5)
                counted = now
                if version % 5 == 0 {
                    #expect(try await server.client.request("DELETE", "/namespaces/a").status == 200)
                }
            }
            try await poll("the old directories to go") { try server.namespaceDirectories.count == 2 }
            #expect(try open() <= files)
            #expect(try await server.client.request("DELETE", "/namespaces/a").status == 200)
            try await poll("the removed namespace's directory to go") { try server.namespaceDirectories == ["default"] }
            #expect(try await hits() == counted)
            files = try open()
            #expect(files < 60)
        }
    }

    @Test(
        "While requests use four ended versions of a namespace, a PUT of a fifth version gets 503, but a DELETE succeeds"
    )
    func heldByMany() async throws {
        try await TestServer.withGatedOrigin { server, origin, gate in
            let space = server.inNamespace("a")
            try await server.putNamespace("a", ["version": 0])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for version in 1...4 {
                    group.addTask {
                        let json = #"{"url": "\#(origin.url("/\(version)"))"}"#
                        let reply = try await space.request("POST", "/download", text: json)
                        #expect(try reply.member("outcome") == "downloaded")
                    }
                    try await poll("the request") { origin.requestCount == version }
                    #expect(try await server.putNamespace("a", ["version": .number(version)]).status == 200)
                }
                let busy = try await server.putNamespace("a", ["version": 5])
                #expect(busy.status == 503 && busy["Retry-After"] != nil)
                #expect(try await server.putNamespace("b", ["version": 1]).status == 200)
                #expect(try await server.putNamespace("b", ["version": 2]).status == 200)
                #expect(try await server.client.request("DELETE", "/namespaces/a").status == 200)
                gate.open()
                try await group.waitForAll()
            }
            try await poll("the old directories to go") { try server.namespaceDirectories == ["b.7", "default"] }
        }
    }
}
