import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

private let isPossible: Bool = {
    guard let dns = try? ScriptedDNS(address: "127.0.0.78", script: { _ in [] }) else { return false }
    dns.stop()
    return (try? ChildProcess.run("/usr/bin/unshare", ["--mount", "true"]))?.exit == .status(0)
}()

/// Name servers that answer with forbidden addresses. The executable asks them like any other name server.
@Suite("Hostile DNS", .enabled(if: isPossible, "binding port 53 and mounting another resolv.conf need privileges"))
struct HostileDNSTests {
    @Test("Larder skips the refused addresses of a name, and answers 403 if the name has no allowed address")
    func answers() async throws {
        let canary = try ScriptedOrigin { _, connection in try connection.respond(body: "secret") }
        defer { canary.stop() }
        let answers: [String: [String]] = [
            "private.test": ["10.0.0.1"], "loopback.test": ["127.0.0.1"], "loopback6.test": ["::1"],
            "unspecified.test": ["0.0.0.0"], "unspecified6.test": ["::"], "mapped.test": ["::ffff:127.0.0.1"],
            "metadata.test": ["169.254.169.254"], "metadata6.test": ["fd00:ec2::254"],
            "nat64.test": ["64:ff9b::7f00:1"],
            "all-bad.test": ["10.0.0.1", "192.168.1.1", "127.0.0.1", "::1", "fe80::1", "fc00::1", "169.254.169.254"],
            "many.test": (1...25).map { "10.0.0.\($0)" },
            // Names with an allowed address among refused addresses, in any position.
            "mixed.test": ["10.0.0.1", "127.0.0.9"], "mixed2.test": ["127.0.0.9", "10.0.0.1"],
            "mixed6.test": ["::1", "fc00::1", "127.0.0.9"], "good.test": ["127.0.0.9"],
        ]
        let dns = try ScriptedDNS(address: "127.0.0.77") { question in
            answers[question.name] ?? []
        }
        defer { dns.stop() }
        let origin = try ScriptedOrigin(address: "127.0.0.9") { request, connection in
            try connection.respond(fields: [.cacheControl: "no-store", .connection: "close"], body: "good")
        }
        defer { origin.stop() }
        let (larder, directory) = try await Self.larder(asking: dns)
        defer { withExtendedLifetime(directory) {} }
        func status(_ host: String, _ port: UInt16) async throws -> Int {
            try await larder.client.request("GET", "/fetch/http://\(host):\(port)/").status
        }
        for name in answers.keys.sorted() {
            let isGood = name.hasPrefix("mixed") || name.hasPrefix("good")
            #expect(try await status(name, isGood ? origin.port : canary.port) == (isGood ? 200 : 403), "\(name)")
        }
        #expect(try await status("none.test", canary.port) == 502)
        #expect(canary.connectionCount == 0)
        #expect(try await larder.stop() == .status(0))
    }

    @Test("If a namespace's rules refuse an address, the namespace does not reuse other namespaces' connections to it")
    func narrowed() async throws {
        let dns = try ScriptedDNS(address: "127.0.0.76") { question in
            question.name == "two.test" ? ["127.0.0.8", "127.0.0.9"] : []
        }
        defer { dns.stop() }
        let origin = try ScriptedOrigin(address: "0.0.0.0") { _, connection in
            try connection.respond(fields: [.cacheControl: "no-store"], body: "good")
        }
        defer { origin.stop() }
        let (larder, directory) = try await Self.larder(asking: dns)
        defer { withExtendedLifetime(directory) {} }
        for (name, rule) in [("ninth", "127.0.0.9/32"), ("none", "127.0.0.7/32")] {
            let reply = try await larder.client.request(
                "PUT", "/namespaces/\(name)", fields: [.contentType: "application/json"],
                text: #"{"origins": ["\#(rule)"]}"#)
            #expect(reply.status == 200)
        }
        func status(_ namespace: String) async throws -> Int {
            try await larder.client.request(
                "GET", "/@\(namespace)/fetch/http://two.test:\(origin.port)/"
            ).status
        }
        for _ in 0..<8 {
            #expect(try await status("default") == 200)
            #expect(try await status("ninth") == 200)
            #expect(try await status("none") == 403)
        }
        #expect(try await larder.stop() == .status(0))
    }

    @Test("Larder keeps the final dot of a host in the Host field for the origin (RFC 9110 §7.2)")
    func finalDot() async throws {
        let dns = try ScriptedDNS(address: "127.0.0.75") { $0.name == "a.test" ? ["127.0.0.9"] : [] }
        defer { dns.stop() }
        let origin = try ScriptedOrigin(address: "127.0.0.9") { request, connection in
            try connection.respond(fields: [.cacheControl: "no-store"], body: request.target)
        }
        defer { origin.stop() }
        let (larder, directory) = try await Self.larder(asking: dns)
        defer { withExtendedLifetime(directory) {} }
        for (host, sent) in [("a.test", "a.test"), ("A.test.", "a.test."), ("a.test%2e", "a.test.")] {
            let url = "http://\(host):\(origin.port)/x%2f/../%7e?a=%7e"
            let seen = "\(sent):\(origin.port)"
            let fetched = try await larder.client.request("GET", "/fetch/\(url)")
            #expect(fetched.text == "/x%2f/../%7e?a=%7e")
            #expect(origin.requests.last?["Host"] == seen, "\(host)")
            let json: JSON = ["url": .string(url), "refresh": true]
            let downloaded = try await larder.client.request(
                "POST", "/download", fields: [.contentType: "application/json"], body: json.utf8)
            #expect(try downloaded.member("entry", "key") == .string(md5("http://a.test:\(origin.port)/~?a=~")))
            #expect(origin.requests.last?.target == "/~?a=%7e")
            #expect(origin.requests.last?["Host"] == seen, "\(host)")
        }
        #expect(try await larder.stop() == .status(0))
    }

    /// Starts Larder in a mount namespace with `dns` as its only name server.
    private static func larder(asking dns: ScriptedDNS) async throws -> (LarderProcess, TemporaryDirectory) {
        let directory = try TemporaryDirectory()
        let configuration = try directory.write(
            "nameserver \(dns.address)\noptions timeout:2 attempts:1\n", to: "resolv.conf")
        let wrapper = [
            "/usr/bin/unshare", "--mount", "/bin/sh", "-c", "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"",
            configuration,
        ]
        let larder = try await LarderProcess(
            directory: directory.path("cache"), arguments: ["--deny-origin", "127.0.0.1"], wrapper: wrapper)
        return (larder, directory)
    }
}
