import HTTPTypes
import TestSupport
import Testing

@testable import Origin

@Suite struct RedirectTests {
    private func redirecting(
        to location: String, status: Int = 302, from path: String = "/start", body: String = "moved"
    ) throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            if request.target == path {
                try connection.respond(status, fields: [.location: location], body: body)
            } else {
                try connection.respond(body: "you are at \(request.target)")
            }
        }
    }

    @Test(
        "A relative Location is resolved against the URL of the redirecting answer (RFC 3986 §5.2)",
        arguments: [
            ("/x", "/x"), ("x", "/dir/x"), ("../x", "/x"), ("?q=1", "/dir/start?q=1"), ("./a/../b", "/dir/b"),
            ("//127.0.0.1:PORT/y", "/y"), ("http://127.0.0.1:PORT/z#f", "/z"), ("/with space", "/with%20space"),
            ("/é", "/%c3%a9"), ("/%zz", "/%zz"),
            ("x#a?b", "/dir/x"), ("?a#b", "/dir/start?a"),
        ])
    func relative(location: String, target: String) async throws {
        let origin = try ScriptedOrigin { request, connection in
            if request.target == "/dir/start" {
                let port = request["Host"]!.split(separator: ":")[1]
                let location = location.replacing("PORT", with: port)
                try connection.send("HTTP/1.1 302 Found\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n")
            } else {
                try connection.respond(body: "end")
            }
        }
        let collector = try await OriginClient(configuration: .local).get(origin.url("/dir/start"))
        #expect(origin.requests.map(\.target) == ["/dir/start", target])
        #expect(collector.heads.count == 1)
        #expect(collector.head?.effectiveURL == origin.url(target))
        #expect(try collector.results[0].get().redirectCount == 1)
        #expect(origin.connectionCount == 1)
    }

    @Test(
        "A redirect with any of the statuses 301, 302, 303, 307 and 308 is followed",
        arguments: [301, 302, 303, 307, 308])
    func statuses(status: Int) async throws {
        let origin = try redirecting(to: "/end", status: status)
        #expect(try await OriginClient(configuration: .local).get(origin.url("/start")).text == "you are at /end")
    }

    @Test("An answer with 300 or 304, or a redirect without a Location, is not followed")
    func notFollowed() async throws {
        let client = OriginClient(configuration: .local)
        for status in [300, 304] {
            let origin = try redirecting(to: "/end", status: status)
            #expect(try await client.get(origin.url("/start")).head?.status == status)
        }
        let origin = try ScriptedOrigin { _, connection in try connection.respond(302, body: "no location") }
        #expect(try await client.get(origin.url()).text == "no location")
    }

    @Test("With followsRedirects = false, a request gets the redirect as its answer")
    func notWanted() async throws {
        let origin = try redirecting(to: "/end")
        let collector = try await OriginClient(configuration: .local).get(origin.url("/start")) {
            $0.followsRedirects = false
        }
        #expect(collector.head?.status == 302)
        #expect(collector.text == "moved")
        #expect(origin.requestCount == 1)
    }

    @Test("A redirect loop ends with an error at the limit of redirects")
    func loop() async throws {
        let origin = try redirecting(to: "/start")
        let error = try await OriginClient(configuration: .local { $0.maxRedirects = 4 }).failure(origin.url("/start"))
        guard case .tooManyRedirects(limit: 4) = error.kind else {
            Issue.record("\(error.kind)")
            return
        }
        #expect(origin.requestCount == 5)
        #expect(error.code == 47)
    }

    @Test("As many redirects as the limit allows are followed")
    func atLimit() async throws {
        let origin = try ScriptedOrigin { request, connection in
            let number = Int(request.target.dropFirst())!
            if number < 10 {
                try connection.respond(302, fields: [.location: "/\(number + 1)"])
            } else {
                try connection.respond(body: "there")
            }
        }
        #expect(try await OriginClient(configuration: .local).get(origin.url("/0")).text == "there")
    }

    @Test(
        "A redirect to a disallowed scheme is refused",
        arguments: ["ftp://127.0.0.1/x", "file:///etc/passwd", "gopher://127.0.0.1/", "smb://127.0.0.1/x", "x-y://h/"])
    func schemes(location: String) async throws {
        let origin = try redirecting(to: location)
        let error = try await OriginClient(configuration: .local).failure(origin.url("/start"))
        guard case .schemeRefused(let scheme) = error.kind else {
            Issue.record("\(error.kind)")
            return
        }
        #expect(location.hasPrefix(scheme))
    }

    @Test(
        "A redirect is refused if its URL cannot be parsed or contains credentials",
        arguments: [
            "http://user:secret@127.0.0.1/", "http://", "http://[::1", "javascript:alert(1)", "http://h:99999/",
        ])
    func invalid(location: String) async throws {
        let origin = try redirecting(to: location)
        let error = try await OriginClient(configuration: .local).failure(origin.url("/start"))
        guard case .redirectInvalid = error.kind else {
            Issue.record("\(error.kind)")
            return
        }
    }

    @Test("An answer with two different Location fields is refused")
    func twoLocations() async throws {
        let origin = try rawOrigin("HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n")
        let error = try await OriginClient(configuration: .local).failure(origin.url())
        guard case .redirectInvalid = error.kind else {
            Issue.record("\(error.kind)")
            return
        }
    }

    @Test("A redirect to a refused address is not followed, and the error names the reason")
    func refusedAddress() async throws {
        let hidden = try ScriptedOrigin { _, connection in try connection.respond(body: "secret") }
        let origin = try redirecting(to: hidden.url("/secret"))
        var configuration = OriginConfiguration.local
        configuration.addressPolicy = AddressPolicy(allowing: [try AddressRule("127.0.0.1:\(origin.port)")])
        let error = try await OriginClient(configuration: configuration).failure(origin.url("/start"))
        guard case .addressRefused(let rule) = error.kind else {
            Issue.record("\(error.kind)")
            return
        }
        #expect(rule == "127.0.0.1 is loopback (127.0.0.0/8), the target of a redirect")
        #expect(hidden.connectionCount == 0)

        let named = try redirecting(to: "http://bad.test:\(origin.port)/")
        let client = OriginClient(configuration: .local { $0.lookUps = ["bad.test:\(origin.port):10.0.0.1"] })
        guard
            case .addressRefused("bad.test is private (10.0.0.0/8), the target of a redirect") =
                try await client.failure(
                    named.url("/start")
                ).kind
        else { return _ = Issue.record("a name was not refused") }
    }

    @Test("A redirect to another origin drops the caller's credentials; within the same origin, all fields are kept")
    func fieldsDropped() async throws {
        let other = try ScriptedOrigin { _, connection in try connection.respond() }
        let origin = try ScriptedOrigin { request, connection in
            let location = request.target == "/start" ? "/middle" : other.url("/end")
            try connection.respond(302, fields: [.location: location])
        }
        let apiKey = HTTPField.Name("X-API-Key")!
        try await OriginClient(configuration: .local).get(origin.url("/start")) {
            $0.fields = [
                .authorization: "Bearer secret", .cookie: "a=b", apiKey: "secret", .ifNoneMatch: "\"e\"",
                .acceptLanguage: "de",
            ]
        }
        let same = origin.requests[1].fields
        #expect(same[.authorization] == "Bearer secret")
        #expect(same[.cookie] == "a=b")
        #expect(same[apiKey] == "secret")
        let cross = other.requests[0].fields
        #expect(cross[.authorization] == nil)
        #expect(cross[.cookie] == nil)
        #expect(cross[apiKey] == nil)
        #expect(cross[.ifNoneMatch] == "\"e\"")
        #expect(cross[.acceptLanguage] == "de")
    }

    @Test("Fields dropped by a redirect to another origin stay dropped after a redirect back to the first origin")
    func fieldsStayDropped() async throws {
        let back = Recorder<String>()
        let other = try ScriptedOrigin { _, connection in
            try connection.respond(302, fields: [.location: back.elements[0]])
        }
        let origin = try ScriptedOrigin { request, connection in
            if request.target == "/start" {
                try connection.respond(302, fields: [.location: other.url("/")])
            } else {
                try connection.respond()
            }
        }
        back.append(origin.url("/back"))
        try await OriginClient(configuration: .local).get(origin.url("/start")) { $0.fields = [.authorization: "x"] }
        #expect(origin.requests.map(\.target) == ["/start", "/back"])
        #expect(origin.requests[1].fields[.authorization] == nil)
    }

    @Test("The client follows a redirect without waiting for the end of an endless redirect body")
    func endlessBody() async throws {
        let origin = try ScriptedOrigin { request, connection in
            if request.target == "/start" {
                try connection.sendHead(302, fields: [.location: "/end"])
                while true { try connection.send([UInt8](repeating: 0x78, count: 10_000)) }
            }
            try connection.respond(body: "there")
        }
        #expect(try await OriginClient(configuration: .local).get(origin.url("/start")).text == "there")
    }

    @Test("Redirects between two hosts at their transfer limits do not block each other")
    func limitedHosts() async throws {
        let locations = Recorder<String>()
        let second = try ScriptedOrigin { request, connection in
            try connection.respond(302, fields: [.location: locations.elements[0] + "\(request.target)/end"])
        }
        let first = try ScriptedOrigin { request, connection in
            if request.target.hasSuffix("/end") {
                try connection.respond(body: "end")
            } else {
                try connection.respond(302, fields: [.location: second.url(request.target)])
            }
        }
        locations.append(first.url(""))
        let client = OriginClient(
            configuration: .local {
                $0.maxTransfersPerHost = 1
                $0.maxTransfers = 2
            })
        let collectors = (0..<20).map { client.start(first.url("/\($0)")) }
        for collector in collectors {
            #expect(try await collector.summary().redirectCount == 2)
            #expect(collector.text == "end")
        }
    }

    @Test(
        "A Location that is empty or only a fragment leads to the same URL with its query (RFC 3986 §5.2.2)",
        arguments: ["", "#", "#x", "#x?y/z"])
    func sameURL(location: String) async throws {
        let origin = try ScriptedOrigin { request, connection in
            if request.index > 0 { return try connection.respond(body: "end") }
            try connection.send("HTTP/1.1 302 Found\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n")
        }
        let collector = try await OriginClient(configuration: .local).get(origin.url("/dir/a?b=c"))
        #expect(collector.text == "end")
        #expect(origin.requests.map(\.target) == ["/dir/a?b=c", "/dir/a?b=c"])
    }

    @Test("The client percent-escapes the bytes of a Location that are not UTF-8, and changes none of them")
    func rawLocation() async throws {
        let origin = try ScriptedOrigin { request, connection in
            if request.index > 0 { return try connection.respond(body: "end") }
            let head = Array("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /m".utf8)
            try connection.send(head + [0xfc, 0x6e, 0xff, 0x0d, 0x0a, 0x0d, 0x0a])
        }
        try await OriginClient(configuration: .local).get(origin.url("/start"))
        #expect(origin.requests.last?.target == "/m%fcn%ff")
    }

    // MARK: Cookies (RFC 6265)

    @Test("A cookie that a redirect sets is sent at the next hop, and forgotten after the last hop")
    func cookies() async throws {
        let origin = try ScriptedOrigin { request, connection in
            if request["Cookie"] == "seen=1" { return try connection.respond(body: "through") }
            try connection.respond(302, fields: [.setCookie: "seen=1; Path=/", .location: "/gate"])
        }
        let client = OriginClient(configuration: .local)
        for _ in 0..<2 {
            #expect(try await client.get(origin.url("/gate")).text == "through")
        }
        #expect(origin.requests.map { $0["Cookie"] } == [nil, "seen=1", nil, "seen=1"])
    }

    @Test("A redirect's cookie is sent by its path, host and lifetime, together with the caller's own cookies")
    func cookieScope() async throws {
        let other = try ScriptedOrigin(address: "127.0.0.2") { _, connection in try connection.respond(body: "end") }
        let origin = try ScriptedOrigin { request, connection in
            func redirect(_ cookies: [String], _ location: String) throws {
                var fields: HTTPFields = [.location: location]
                for cookie in cookies { fields.append(HTTPField(name: .setCookie, value: cookie)) }
                try connection.respond(302, fields: fields)
            }
            switch request.target {
            case "/a": try redirect(["one=1", "two=2; Path=/b", "three=3; Domain=example.com"], "/b")
            case "/b": try redirect(["one=; Max-Age=0"], "/b/c")
            default: try redirect([], other.url("/end", host: "127.0.0.2"))
            }
        }
        try await OriginClient(configuration: .local).get(origin.url("/a")) { $0.fields[.cookie] = "own=0" }
        #expect(origin.requests.map { $0["Cookie"] } == ["own=0", "two=2; one=1; own=0", "two=2; own=0"])
        #expect(other.requests.map { $0["Cookie"] } == [nil])
    }

    @Test("A cookie goes back to the origin that set it, byte for byte, and to no other port of the same host")
    func cookieOrigin() async throws {
        let other = try ScriptedOrigin { request, connection in
            try connection.respond(302, fields: [.location: "http:/\(request.target)/b"])
        }
        let origin = try ScriptedOrigin { request, connection in
            guard request.target == "/a" else { return try connection.respond(body: "end") }
            let away = other.url("/\(request["Host"]!)")
            try connection.send("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: \(away)\r\n")
            try connection.send("Set-Cookie: s=1; Path=/\r\nSet-Cookie: d=2; Domain=127.0.0.1\r\n")
            try connection.send(Array("Set-Cookie: b=".utf8) + [0xe9, 0xff] + Array("\r\n\r\n".utf8))
        }
        #expect(try await OriginClient(configuration: .local).get(origin.url("/a")).text == "end")
        #expect(other.requests.map { $0["Cookie"] } == [nil])
        let sent = origin.requests[1].fields[fields: .cookie].map { $0.withUnsafeBytesOfValue(Array.init) }
        #expect(sent.count == 1)
        #expect(sent[0].split(separator: UInt8(ascii: ";")).contains { $0.suffix(4) == [0x62, 0x3d, 0xe9, 0xff] })
        #expect(String(decoding: sent[0], as: UTF8.self).contains("s=1"))
    }

    @Test("A request that follows no redirects keeps no cookie, and sends its own cookie unchanged")
    func noCookies() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(302, fields: [.setCookie: "a=b", .location: "/x"])
        }
        let client = OriginClient(configuration: .local)
        for _ in 0..<2 {
            try await client.get(origin.url()) {
                $0.followsRedirects = false
                $0.fields[.cookie] = "own=0"
            }
        }
        #expect(origin.requests.map { $0["Cookie"] } == ["own=0", "own=0"])
    }
}
