import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The list of pages")
struct PageListTests {
    private func key(_ origin: ScriptedOrigin, _ path: String) -> String { md5(origin.url(path)) + "-page" }

    private func listed(_ server: TestServer) async throws -> Set<String> {
        let pages = try await server.get("/pages").member("pages")?.arrayValue ?? []
        return Set(pages.compactMap { $0["key"]?.stringValue })
    }

    @Test("A page is listed exactly if GET finds it, also after a removal and a capture that was not kept")
    func consistent() async throws {
        let gate = Gate("the running page")
        let isBroken = Locked(false)
        let origin = try ScriptedOrigin { request, connection in
            switch request.target {
            case "/running", "/cancelled": try gate.waitBlocking()
            case "/gone": return try connection.respond(404, body: "")
            case _ where request.target.hasSuffix(".png"):
                return try connection.respond(isBroken.withLock(\.self) ? 500 : 200, body: "image")
            default: break
            }
            try connection.respond(fields: [.contentType: "text/html"], body: "<img src=\(request.target).png>")
        }
        defer {
            gate.open()
            origin.stop()
        }
        try await TestServer.with { (server) async throws in
            let kept = ["/complete", "/partial", "/worse"]
            let removed = ["/removed", "/worse-and-removed"]
            let all = kept + removed + ["/gone", "/running", "/cancelled", "/never"]
            func capture(_ path: String, _ state: JSON) async throws {
                let page = try await server.capture(["url": .string(origin.url(path))])
                #expect(try page.member("lastCapture", "state") == state, "\(path): \(page.text)")
            }
            for path in kept + removed where path != "/partial" { try await capture(path, "complete") }
            isBroken.withLock { $0 = true }
            for path in ["/partial", "/worse", "/worse-and-removed"] { try await capture(path, "partial") }
            #expect(try await server.capture(["url": .string(origin.url("/gone"))]).status == 502)
            for path in ["/running", "/cancelled"] {
                let body = JSON.object([.init("url", .string(origin.url(path)))]).utf8
                let reply = try await server.client.request(
                    "POST", "/pages", fields: [.contentType: "application/json"], body: body)
                #expect(reply.status == 202)
            }
            for path in removed + ["/cancelled"] {
                let reply = try await server.client.request("DELETE", "/pages/\(key(origin, path))")
                #expect(reply.status == 200)
            }
            try await poll("the cancelled capture") { server.space.pages.runningCount == 1 }
            var found: Set<String> = []
            for path in all {
                let status = try await server.get("/pages/\(key(origin, path))").status
                if status == 200 { found.insert(path) }
            }
            #expect(found == Set(kept + ["/gone", "/running", "/cancelled"]))
            #expect(try await listed(server) == Set(found.map { key(origin, $0) }))
            let metrics = try await server.get("/metrics").text.split(separator: "\n")
            for (state, count) in [("complete", 4), ("partial", 1), ("unkept", 2), ("failed", 1), ("cancelled", 1)] {
                #expect(metrics.contains("larder_page_captures_total{state=\"\(state)\"} \(count)"), "\(state)")
            }
        }
    }

    @Test("After a restart the list has a page with a manifest that must be verified first, and not a damaged page")
    func checked() async throws {
        let directory = try TemporaryDirectory()
        let origin = try PageOrigin.start()
        defer { origin.stop() }
        let configure: (inout Configuration) -> Void = { $0.inlineLimit = 0 }
        try await TestServer.with(directory: directory, configure: configure) { (server) async throws in
            for path in ["/", "/partial"] { _ = try await server.capture(["url": .string(origin.url(path))]) }
        }
        // A backup that was restored has other dates, so that the server must check each body before its first use.
        let manifest = Array(#"{"url":"\#(origin.url("/partial"))","updateExpiry""#.utf8)
        var damaged = 0
        let files = try #require(FileManager.default.enumerator(atPath: directory.path("cache/default")))
        for case let name as String in files where name.contains("/") {
            let path = "cache/default/\(name)"
            var isDirectory: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: directory.path(path), isDirectory: &isDirectory)
            if isDirectory.boolValue { continue }
            if try directory.read(path).starts(with: manifest) {
                damaged += 1
                try directory.write([0x7b, 0x7d], to: path)
            }
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1_000_000)], ofItemAtPath: directory.path(path))
        }
        #expect(damaged == 1)
        try await TestServer.with(directory: directory, configure: configure) { (server) async throws in
            #expect(try await listed(server) == [key(origin, "/")])
            #expect(try await server.get("/pages/\(key(origin, "/"))").status == 200)
            #expect(try await server.get("/pages/\(key(origin, "/partial"))").status == 404)
        }
    }
}
