import HTTPTypes
import Origin
import Primitives
import TestSupport
import Testing

/// URLs of forbidden addresses: every spelling, requested directly and as the target of a redirect.
@Suite("Hostile URLs")
struct HostileURLTests {
    /// Hosts that are not globally routable, in the spellings that libcurl accepts and some that libcurl rejects.
    static let hosts: [String] = [
        // Loopback: dotted, short, decimal, octal, hexadecimal, mixed, with extra zeros and dots.
        "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7F.0.0.1", "0x7f.1", "0177.0.0.1", "0177.1",
        "017700000001", "127.0.0.01", "127.000.000.001", "127.255.255.254", "127.0x0.0.1",
        "0x7f.0x0.0x0.0x1", "127.65535", "127.0.65535", "0", "0.0.0.0", "0.0.0.1", "0x0", "00", "0.0",
        "localhost", "LOCALHOST", "%6c%6f%63%61%6c%68%6f%73%74", "127%2e0%2e0%2e1",
        "loc%61lhost", "①②⑦.⓪.⓪.①", "１２７.０.０.１", "127。0。0。1", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
        // IPv6: loopback, unspecified, and addresses that contain an IPv4 address.
        "[::1]", "[0:0:0:0:0:0:0:1]", "[0000:0000:0000:0000:0000:0000:0000:0001]", "[::]", "[0::0]", "[::0001]",
        "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:7F00:0001]", "[0:0:0:0:0:ffff:127.0.0.1]",
        "[::ffff:10.0.0.1]", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[::127.0.0.1]", "[::7f00:1]",
        "[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::1]", "[2002:7f00:1::]",
        "[2002:a9fe:a9fe::1]", "[2002:c0a8:1::]", "[2001::1]", "[2001:0:7f00:1::]", "[2001:db8::1]", "[2001:10::1]",
        "[100::1]", "[fc00::1]", "[fd00::1]", "[fdff:ffff::1]", "[fe80::1]", "[fe80::1%25lo]", "[fe80::1%lo]",
        "[::1%25lo]", "[::1%251]", "[febf::1]", "[fec0::1]", "[ff02::1]", "[ff05::2]", "[3fff::1]", "[5f00::1]",
        "[4000::1]", "[8000::1]", "[e000::1]", "[1::1]", "[200::1]",
        "[::ffff:192.168.0.1]", "[64:ff9b::a00:1]", "[2002:a00:1::]", "[::a00:1]", "[2620:4f:8000::1]",
        // The metadata services of clouds.
        "169.254.169.254", "2852039166", "0xa9fea9fe", "0xA9.0xFE.0xA9.0xFE", "025177524776",
        "0251.0376.0251.0376", "169.254.43518", "169.16689662", "169.254.170.2", "169.254.170.23", "168.63.129.16",
        "100.100.100.200", "0x646464c8", "1684301000", "192.0.0.192", "[fd00:ec2::254]", "[fd00:ec2::23]",
        "[fd20:ce::254]", "[FD00:0EC2::0254]",
        // Addresses from the special-purpose ranges of the IANA registries.
        "10.0.0.0", "10.0.0.1", "10.1", "10.0.1", "10.255.255.255", "0xa.0.0.1", "012.0.0.1", "167772161", "100.64.0.1",
        "100.127.255.255", "169.254.0.1", "172.16.0.1", "172.31.255.255", "0xac.0x10.0.1", "2886729729", "192.0.0.1",
        "192.0.0.8", "192.0.0.170", "192.0.2.1", "192.31.196.1", "192.52.193.1", "192.88.99.1", "192.168.0.1",
        "192.168.255.255", "0xc0a80001", "3232235521", "0300.0250.0.1", "192.168.257", "192.11010049",
        "192.175.48.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250",
        "240.0.0.1", "255.255.255.255", "4294967295", "0xffffffff", "255.255.255.254",
    ]

    /// URLs with refused schemes, with user information, with invalid ports, or with malformed parts.
    static let others: [String] = [
        "file:///etc/passwd", "file://localhost/etc/passwd", "FILE:///etc/passwd", "ftp://127.0.0.1/",
        "gopher://127.0.0.1/_x",
        "dict://127.0.0.1:11211/stats", "ldap://127.0.0.1/", "smb://127.0.0.1/share", "tftp://127.0.0.1/a",
        "telnet://127.0.0.1:23", "imap://127.0.0.1/", "smtp://127.0.0.1/", "rtsp://127.0.0.1/", "mqtt://127.0.0.1/a",
        "ws://127.0.0.1/", "unix:///var/run/docker.sock", "http+unix://%2Fvar%2Frun%2Fdocker.sock/",
        "jar:http://127.0.0.1/!/",
        "data:text/plain,x", "javascript:alert(1)", "about:blank", "netdoc:///etc/passwd",
        "view-source:http://127.0.0.1/",
        "http://user@127.0.0.1/", "http://example.com@127.0.0.1/", "http://example.com:80@127.0.0.1/",
        "http://127.0.0.1:80@127.0.0.1/", "http://127.0.0.1\\@example.com/", "http://example.com\\@127.0.0.1/",
        "http://127.0.0.1#@example.com/", "http://127.0.0.1?@example.com/", "http://127.0.0.1;x/", "http:///127.0.0.1/",
        "http:127.0.0.1", "http:/127.0.0.1/", "http:\\\\127.0.0.1\\", "//127.0.0.1/", "127.0.0.1", "http://[::1",
        "http://::1/",
        "http://127.0.0.1:/", "http://127.0.0.1:0/", "http://127.0.0.1:65536/", "http://127.0.0.1:-1/",
        "http://127.0.0.1:80:80/",
        "http://127.0.0.1 /", "http:// 127.0.0.1/", "http://127.0.0.1%00/", "http://127.0.0.1%0d%0a/",
        "http://127.0.0.1%2f@example.com/",
        "http://\u{0}127.0.0.1/", "http://127.0.0.1\r\nHost: x/", "http://127.0.0.1\t/", "https://127.0.0.1/",
        "https://[::1]/",
        "http://%/", "http://*/", "http://[127.0.0.1]/", "http://[::127.0.0.1]:80/",
        "http://256.256.256.256/x y",
    ]

    /// Expects that the server refuses a URL with 400 or 403, as a download and through the gateway.
    private func expectRefused(
        _ url: String, by server: TestServer, _ what: String = "", sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let download = try await server.download(["url": .string(url), "ttl": 60], sourceLocation: sourceLocation)
        #expect(
            [400, 403].contains(download.status), "\(what) \(url): \(download.text)", sourceLocation: sourceLocation)
        let fetch = try await server.get("/fetch?url=\(url.percentEncoded)", sourceLocation: sourceLocation)
        #expect([400, 403].contains(fetch.status), "\(what) \(url): \(fetch.text)", sourceLocation: sourceLocation)
    }

    @Test("Larder refuses every hostile URL, and opens no connection")
    func straight() async throws {
        let canary = try ScriptedOrigin { _, connection in try connection.respond(body: "secret") }
        defer { canary.stop() }
        #expect(Set(Self.hosts).count + Set(Self.others).count >= 200)
        try await TestServer.with(configure: { $0.allowedOrigins = [] }) { (server) async throws in
            for host in Self.hosts {
                for url in ["http://\(host):\(canary.port)/", "http://\(host)/"] {
                    try await expectRefused(url, by: server)
                }
            }
            for url in Self.others { try await expectRefused(url, by: server) }
        }
        #expect(canary.connectionCount == 0)
    }

    @Test("Larder refuses a redirect from an allowed origin to a hostile URL")
    func redirects() async throws {
        let canary = try ScriptedOrigin { _, connection in try connection.respond(body: "secret") }
        defer { canary.stop() }
        let locations = Self.hosts.map { "http://\($0):\(canary.port)/" } + Self.others
        let origin = try ScriptedOrigin { request, connection in
            let index = Int(request.target.dropFirst()) ?? 0
            // A field value cannot contain NUL, CRLF or a tab.
            let location = locations[index].filter { $0 != "\0" && $0 != "\r\n" && $0 != "\t" }
            try connection.respond(302, fields: [HTTPField.Name.location: location])
        }
        defer { origin.stop() }
        let rule = try AddressRule("origin.localhost:\(origin.port)")
        // Some locations are relative. Larder requests the resulting path from the origin, which redirects an unknown
        // path to the first location, on loopback.
        try await TestServer.with(configure: { $0.allowedOrigins = [rule] }) { (server) async throws in
            for (index, location) in locations.enumerated() {
                let url = "http://origin.localhost:\(origin.port)/\(index)"
                let reply = try await server.download(["url": .string(url), "ttl": 60])
                #expect([403, 502].contains(reply.status), "\(location): \(reply.text)")
            }
        }
        #expect(origin.requestCount >= locations.count)
        #expect(canary.connectionCount == 0)
    }

    @Test("The server refuses URLs of its own ports, even at allowed addresses")
    func itself() async throws {
        let everything = try ["0.0.0.0/0", "::/0", "localhost"].map { text in try AddressRule(text) }
        try await TestServer.with(configure: { ($0.allowedOrigins, $0.adminPort) = (everything, 0) }) {
            (server) async throws in
            for port in [server.api.port, try #require(server.api.adminPort)] {
                for host in [
                    "127.0.0.1", "127.0.0.2", "localhost", "0.0.0.0", "0", "2130706433", "127.1", "[::1]", "[::]",
                    "[::ffff:127.0.0.1]",
                ] {
                    try await expectRefused("http://\(host):\(port)/metrics", by: server)
                }
            }
        }
    }

    @Test("Larder refuses a denied origin even if an allow rule names the origin")
    func denials() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { origin.stop() }
        let denied = try ["denied.localhost", "*.denied.localhost", "127.0.0.3"].map { text in try AddressRule(text) }
        let allowed = try ["*.localhost", "127.0.0.0/8"].map { text in try AddressRule(text) }
        try await TestServer.with(configure: { ($0.allowedOrigins, $0.deniedOrigins) = (allowed, denied) }) {
            (server) async throws in
            for host in ["denied.localhost", "DENIED.localhost.", "a.b.denied.localhost", "127.0.0.3", "127.3"] {
                try await expectRefused("http://\(host):\(origin.port)/", by: server)
            }
            let reply = try await server.get("/fetch/http://fine.localhost:\(origin.port)/")
            #expect(reply.status == 200)
        }
        #expect(origin.requestCount == 1)
    }

    @Test("Larder fetches legitimate URLs of allowed origins")
    func legitimate() async throws {
        let origin = try ScriptedOrigin { request, connection in try connection.respond(body: request["Host"] ?? "") }
        defer { origin.stop() }
        let port = origin.port
        let rules = try ["127.0.0.0/8", "localhost", "*.localhost", "[::1]:\(port)"].map { text in try AddressRule(text)
        }
        let urls = [
            "http://127.0.0.1:\(port)/", "http://127.0.0.1:\(port)", "http://127.0.0.1:\(port)/?q",
            "HTTP://127.0.0.1:\(port)/a",
            "http://127.0.0.1:\(port)/a/../b", "http://127.0.0.1:\(port)/%7Euser", "http://127.0.0.1:\(port)/a%20b",
            "http://127.0.0.1:\(port)/#fragment", "http://127.1:\(port)/",
            "http://2130706433:\(port)/",
            "http://0x7f.0.0.1:\(port)/", "http://localhost:\(port)/", "http://LOCALHOST:\(port)/",

            "http://a.localhost:\(port)/", "http://a.b.localhost:\(port)/x?y=z",
            "http://xn--bcher-kva.localhost:\(port)/",
            "http://bücher.localhost:\(port)/", "http://a-b.localhost:\(port)//double", "http://127.0.0.1:\(port)/ü",
            "http://127.0.0.1:\(port)/@user:pw", "http://127.0.0.1:\(port)/http://10.0.0.1/",
            "http://127.0.0.1:\(port)/?u=http://[::1]/",
        ]
        #expect(urls.count >= 20)
        try await TestServer.with(configure: { $0.allowedOrigins = rules }) { (server) async throws in
            for url in urls {
                let download = try await server.download(["url": .string(url), "ttl": 60])
                #expect(download.status == 200, "\(url): \(download.text)")
                let fetch = try await server.get("/fetch?url=\(url.percentEncoded)")
                #expect(fetch.status == 200, "\(url): \(fetch.text)")
            }
        }
    }
}
