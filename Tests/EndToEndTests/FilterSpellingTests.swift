import HTTPTypes
import Primitives
import TestSupport
import Testing

/// A filter in another spelling of a stored URL selects the URL's entries, or the server refuses the filter.
@Suite("Filters in every spelling of a URL, a host and a prefix")
struct FilterSpellingTests {
    private static let json: HTTPFields = [.contentType: "application/json"]

    private func filtered(_ name: String, _ value: String) -> String { "/entries?\(name)=\(value.percentEncoded)" }

    @Test("A filter by host or prefix, in any spelling, lists and removes the entries of matching URLs")
    func spellings() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { origin.stop() }
        let base = origin.url("")
        let filters = [
            ("host", "b\u{FC}cher.example"), ("host", "B\u{DC}CHER.example"), ("host", "xn--bcher-kva.example."),
            ("host", "::1"), ("host", "[0:0::1]"), ("host", "127.0.0.1"), ("host", "127.1"),
            ("prefix", "http://b\u{FC}cher.example/"), ("prefix", "http://xn--bcher-kva.example:80/"),
            ("prefix", "http://[0::1]:9/"),
            ("host", "127.0.0.1."), ("host", "127%2e1"), ("host", "127\u{3002}1"),
            ("prefix", "http://xn--bcher-kva.example./"), ("prefix", base + "/m\u{FC}n"),
            ("prefix", base + "/m%c3%bcnchen"),
            ("prefix", base + "/%6D"), ("prefix", base.replacing("http", with: "HTTP") + "/m"),
            ("prefix", base + "/./m"), ("prefix", base + "/x/../m"), ("prefix", base + "/"), ("prefix", base),
            ("url", base + "/x/../m\u{FC}nchen/a"), ("url", "HTTP://B\u{DC}cher.example:80/x#top"),
        ]
        try await TestServer.with { (server) async throws in
            for (name, value) in filters {
                for url in ["http://b\u{FC}cher.example/x", "http://[::1]:9/y"] {
                    let path = "/json?ttl=60&url=\(url.percentEncoded)"
                    _ = try await server.client.request("PUT", path, fields: Self.json, text: "[1]")
                }
                _ = try await server.download(["url": .string(base + "/m%C3%BCnchen/a"), "ttl": 60])
                let path = filtered(name, value)
                #expect(try await server.get(path).member("entries")?.arrayValue?.count == 1, "\(name)=\(value)")
                let counted = try await server.client.request("DELETE", path + "&dryRun=true")
                #expect(try counted.member("removed") == 1, "\(name)=\(value)")
                let removed = try await server.client.request("DELETE", path)
                #expect(try removed.member("removed") == 1, "\(name)=\(value)")
            }
        }
    }

    @Test(
        "A filter by a host with a port, or by an ambiguous prefix, gets 400 with a hint",
        arguments: [
            ("host", "127.0.0.1:8080", "prefix=http://127.0.0.1:8080/"), ("host", "[::1]:80", "prefix=http://[::1]/"),
            ("host", "a/b", "not a valid host"), ("prefix", "example.com/", "must start with http://"),
            ("prefix", "http://b\u{FC}cher.example", "http://xn--bcher-kva.example/"),
            ("prefix", "http://a.example:80", "http://a.example/"), ("prefix", "http://a.example/%c", "%25"),
            ("prefix", "http://a.example/..", "dot segment"), ("prefix", "http://a.example/#x", "leave out the #"),
            ("prefix", "http://a.example:x", "port"), ("prefix", "http://[::1].", "port"),
            ("prefix", "http://[zz]", "the host is invalid"),
        ])
    func refused(name: String, value: String, words: String) async throws {
        try await TestServer.with { (server) async throws in
            for method in ["GET", "DELETE"] {
                let reply = try await server.client.request(method, filtered(name, value))
                #expect(reply.status == 400)
                #expect(try reply.member("pointer") == .string("/" + name))
                #expect(try reply.member("detail")?.stringValue?.contains(words) == true, "\(reply.text)")
            }
        }
    }

    private static let addressSpellings: [(spellings: [String], other: String)] = [
        (["::ffff:1.2.3.4", "::ffff:102:304", "0:0:0:0:0:FFFF:102:304"], "::ffff:102:305"),
        (["::1.2.3.4", "::102:304", "0::0102:0304"], "::1.2.3.5"),
        (["64:ff9b::1.2.3.4", "64:ff9b::102:304", "64:FF9B:0:0:0:0:1.2.3.4"], "64:ff9b::102:305"),
        (["2001:db8:0:1:1:1:1:1", "2001:db8::1:1:1:1:1", "2001:DB8:0000:1:1:1:1:1"], "2001:db8:1:1:1:1:1:1"),
        (["2001:db8::1:0:0:1", "2001:db8:0:0:1::1"], "2001:db8:0:1::1"),
    ]

    @Test(
        "All spellings of an IPv6 address are one host, for keys and for every filter",
        arguments: addressSpellings)
    func addresses(spellings: [String], other: String) async throws {
        try await TestServer.with { (server) async throws in
            func store(_ address: String) async throws -> JSON? {
                let url = "http://[\(address)]:9/x"
                let path = "/json?ttl=60&url=\(url.percentEncoded)"
                return try await server.client.request("PUT", path, fields: Self.json, text: "[1]").member("key")
            }
            for stored in spellings {
                for written in spellings {
                    for (name, value) in [
                        ("host", written), ("host", "[\(written)]"), ("url", "http://[\(written)]:9/x"),
                        ("prefix", "http://[\(written)]:9/"),
                    ] {
                        _ = try await store(other)
                        #expect(try await store(stored) == store(written))
                        let reply = try await server.client.request("DELETE", filtered(name, value))
                        #expect(try reply.member("removed") == 1, "\(stored): \(name)=\(value)")
                    }
                }
            }
        }
    }

    @Test("All spellings of a query's escapes are one URL, for keys, downloads, filters and responses of /fetch")
    func queries() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(fields: [.cacheControl: "max-age=600"], body: request.target)
        }
        defer { origin.stop() }
        let spellings = [
            ["/q?a=%c3%a9", "/q?a=%C3%A9", "/q?a=\u{E9}"], ["/q?b=%2f", "/q?b=%2F"], ["/q?c=%41%2d", "/q?c=A-"],
            ["/q?d=~+%2b", "/q?d=%7e+%2B", "/q?%64=%7E+%2b"],
        ]
        try await TestServer.with { (server) async throws in
            for targets in spellings {
                for (held, written) in targets.flatMap({ held in targets.map { (held, $0) } }) {
                    let url = origin.url(written)
                    let before = origin.requestCount
                    let first = try await server.download(["url": .string(origin.url(held)), "ttl": 60])
                    #expect(try first.member("entry", "url") == .string(try CanonicalURL(url).string))
                    // Larder sends the query to the origin in the spelling of the caller.
                    let sent = origin.requests.dropFirst(before).first?.target ?? ""
                    #expect(sent == String(escapingNonASCII: held.utf8))
                    let second = try await server.download(["url": .string(url)])
                    #expect(try second.member("outcome") == "cached")
                    #expect(try await server.get("/explain?url=\(url.percentEncoded)").member("hit") == true)
                    _ = try await server.get("/fetch?url=\(origin.url(held).percentEncoded)")
                    try await poll("two stored entries") { server.service.totals.entries == 2 }
                    let reply = try await server.client.request("DELETE", filtered("url", url))
                    #expect(try reply.member("removed") == 2, "\(held) \(written)")
                }
            }
            for (held, prefix) in [("/q?a=~x", "/q?a=%7e"), ("/q?%c3%a9=1", "/q?\u{E9}"), ("/q?a=%2fb", "/q?%61=%2F")] {
                _ = try await server.download(["url": .string(origin.url(held)), "ttl": 60])
                let reply = try await server.client.request("DELETE", filtered("prefix", origin.url(prefix)))
                #expect(try reply.member("removed") == 1, "\(held) \(prefix)")
            }
        }
    }

    @Test("A host is the same with and without a final dot, for keys and for every filter")
    func dots() async throws {
        let (base, dotted) = ("http://a.example:9", "http://A.example.:9")
        try await TestServer.with { (server) async throws in
            for (held, other) in [(base, dotted), (dotted, base)] {
                for (name, value) in [
                    ("host", "a.example"), ("host", "A.EXAMPLE."), ("url", other + "/a"), ("url", held + "/a"),
                    ("prefix", other + "/"), ("prefix", held + "/a"), ("prefix", "http://a.example."),
                    ("prefix", "http://a."),
                ] {
                    let path = "/json?ttl=60&url=\((held + "/a").percentEncoded)"
                    let stored = try await server.client.request("PUT", path, fields: Self.json, text: "[1]")
                    #expect(try stored.member("key") == .string(md5(base + "/a")))
                    #expect(try await server.get("/json?url=\((other + "/a").percentEncoded)").status == 200)
                    let reply = try await server.client.request("DELETE", filtered(name, value))
                    #expect(try reply.member("removed") == 1, "\(held): \(name)=\(value)")
                }
            }
        }
    }

    @Test("A prefix that ends before the path selects URLs and keys, in every spelling of scheme, host and port")
    func slashless() async throws {
        try await TestServer.with { (server) async throws in
            func fill() async throws {
                for url in ["http://a.example/x", "http://a.example:8080/x", "https://a.example/x", "http://[::1]:9/y"]
                {
                    let path = "/json?ttl=60&url=\(url.percentEncoded)"
                    _ = try await server.client.request("PUT", path, fields: Self.json, text: "[1]")
                }
                for key in ["HTTP:x", "a.example:8080", "http:a.example"] { try await server.put(key, [1]) }
            }
            for (prefix, count) in [
                ("HTTP:", 4), ("HTTPS", 1), ("http:", 4), ("http:a.example", 3), ("http:\\\\A.example\\", 1),
                ("a.example:8080", 2), ("A.example:8080", 1), ("a.example:80", 2), ("[::1]:9", 1), ("http", 5),
            ] {
                try await fill()
                let counted = try await server.client.request("DELETE", filtered("prefix", prefix) + "&dryRun=true")
                #expect(try counted.member("removed") == .number(count), "\(prefix)")
                let listed = try await server.get(filtered("prefix", prefix) + "&sort=url").member("entries")
                #expect(listed?.arrayValue?.count == count, "\(prefix)")
                let removed = try await server.client.request("DELETE", filtered("prefix", prefix))
                #expect(try removed.member("removed") == .number(count), "\(prefix)")
            }
        }
    }

    @Test("A filter by a URL, a prefix or a host that is too long gets 414", arguments: ["url", "prefix", "host"])
    func tooLong(name: String) async throws {
        let text = String(repeating: "a", count: 9000)
        try await TestServer.with { (server) async throws in
            for value in name == "prefix" ? [text, "http://h/" + text, "http://" + text] : [text, "http://h/" + text] {
                guard name != "host" || value == text else { continue }
                for method in ["GET", "DELETE"] {
                    let reply = try await server.client.request(method, filtered(name, value))
                    #expect(reply.status == 414, "\(method) \(name)")
                    #expect(try reply.member("title") == .string("URI Too Long"))
                    #expect(try reply.member("pointer") == .string("/" + name))
                }
            }
        }
    }

    @Test(
        "A removal by the MD5 of a URL removes the URL's responses, which /fetch stored under any spelling of the URL")
    func keyOfResponses() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.cacheControl: "max-age=600"], body: "x")
        }
        defer { origin.stop() }
        let url = origin.url("/m%C3%BC?a=~")
        try await TestServer.with { (server) async throws in
            for isDownloaded in [false, true] {
                for target in ["/m%C3%BC?a=~", "/m%c3%bc?a=~", "/x/../m%C3%BC?a=%7E", "/other?a=%7E"] {
                    #expect(try await server.get("/fetch/\(origin.url(target))").status == 200)
                }
                if isDownloaded { _ = try await server.download(["url": .string(url), "ttl": 60]) }
                let count = isDownloaded ? 5 : 4
                try await poll("all responses to be stored") { server.service.totals.entries == count }
                let reply = try await server.client.request("DELETE", "/entries/\(md5(url))")
                #expect(try reply.member("removed") == .number(count - 1))
                #expect(server.service.totals.entries == 1)
            }
        }
    }

    @Test("If a caller chose the key of an entry, a filter by prefix matches the key only in the same spelling")
    func keys() async throws {
        try await TestServer.with { (server) async throws in
            for key in ["Note.", "note", "HTTP:x", "%41"] { try await server.put(key, [1]) }
            for (prefix, key) in [("Note.", "Note."), ("n", "note"), ("HTTP:", "HTTP:x"), ("%4", "%41")] {
                let entries = try await server.get(filtered("prefix", prefix)).member("entries")?.arrayValue
                #expect(entries?.compactMap { $0["key"]?.stringValue } == [key])
            }
        }
    }

    @Test("A removal by a URL in any spelling removes the URL's variants that /fetch stored under every spelling")
    func responses() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(
                fields: [.cacheControl: "max-age=600", .vary: "Accept"], body: request["Accept"] ?? "")
        }
        defer { origin.stop() }
        let base = origin.url("")
        try await TestServer.with { (server) async throws in
            func fill() async throws {
                for target in ["/m%C3%BC?q=%c3", "/m%c3%bc?q=%c3", "/x/../m%C3%BC?q=%c3", "/other"] {
                    for type in ["text/plain", "text/csv"] {
                        let reply = try await server.client.withConnection { connection in
                            try connection.sendRequest("GET", "/fetch/\(base)\(target)", fields: [.accept: type])
                            return try connection.readReply()
                        }
                        #expect(reply.status == 200)
                    }
                }
                try await poll("all responses to be stored") { server.service.totals.entries == 8 }
            }
            for (name, value) in [
                ("url", base + "/m\u{FC}?q=%c3"), ("url", base + "/m%c3%BC?q=%c3"), ("prefix", base + "/m%c3%bc"),
                ("prefix", base + "/m"),
            ] {
                try await fill()
                let entries = try await server.get(filtered(name, value)).member("entries")?.arrayValue
                #expect(entries?.count == 6, "\(name)=\(value)")
                let reply = try await server.client.request("DELETE", filtered(name, value))
                #expect(try reply.member("removed") == 6, "\(name)=\(value)")
                #expect(server.service.totals.entries == 2)
            }
        }
    }

    @Test(
        "A removal by URL, MD5, prefix or host also discards an arriving response to another spelling of the URL",
        arguments: ["url", "md5", "prefix", "host"])
    func underWay(filter: String) async throws {
        let gate = Gate("the origin's answer")
        let origin = try ScriptedOrigin { _, connection in
            try gate.waitBlocking()
            try connection.respond(fields: [.cacheControl: "max-age=600"], body: "x")
        }
        defer { origin.stop() }
        let url = origin.url("/a")
        try await TestServer.with { (server) async throws in
            async let reply = server.get("/fetch/\(origin.url("/x/../a"))")
            try await origin.waitForRequests(1)
            let (path, status) =
                switch filter {
                case "md5": ("/entries/\(md5(url))", 404)
                case "host": (filtered(filter, "127.0.0.1"), 200)
                default: (filtered(filter, url), 200)
                }
            #expect(try await server.client.request("DELETE", path).status == status)
            gate.open()
            #expect(try await reply.text == "x")
            // The purge has prevented the running fetch from storing its response, so the next request is a miss.
            let again = try await server.get("/fetch/\(origin.url("/x/../a"))")
            #expect(again["Cache-Status"]?.contains("fwd=uri-miss") == true)
        }
    }
}
