import Foundation
import HTTPTypes
import MicroHTTPD
import Testing

@Suite("Requests")
struct RequestTests {
    /// Sends a request and returns the handler's view of it, kept beyond its connection.
    private func request(_ head: String) async throws -> Request {
        try await request(Array(head.utf8))
    }

    private func request(_ head: [UInt8]) async throws -> Request {
        let seen = Mailbox<Request>()
        let handler = Handler.answering { exchange in
            seen.put(exchange.request)
            return Response()
        }
        return try await withDaemon(handler) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.send(head)
            return try seen.wait()[0]
        }
    }

    @Test(
        "The target of a request reaches the handler byte for byte",
        arguments: [
            ("/", "/", nil),
            ("//a//b/", "//a//b/", nil),
            ("/a%2Fb%3f/%c3%a4", "/a%2Fb%3f/%c3%a4", nil),
            ("/a?", "/a", ""),
            ("/a?b=c&d=%20+e?f&&=", "/a", "b=c&d=%20+e?f&&="),
            ("/fetch/https://h.example/x?y=1&z", "/fetch/https://h.example/x", "y=1&z"),
            ("/../a/./b", "/../a/./b", nil),
            ("*", "*", nil),
            ("/" + String(repeating: "long", count: 2000) + "?q", "/" + String(repeating: "long", count: 2000), "q"),
        ] as [(String, String, String?)])
    func rawTarget(target: String, path: String, query: String?) async throws {
        let request = try await request("GET \(target) HTTP/1.1\r\nHost: test\r\n\r\n")
        #expect(request.target == target)
        #expect(request.withTarget { Array($0) } == Array(target.utf8))
        #expect(request.path == path)
        #expect(request.query == query)
    }

    @Test(
        "A target in absolute form is accepted, and provides host, path and query (RFC 9112 §3.2.2)",
        arguments: [
            ("http://h.example/p?q", "/p", "q"),
            ("HTTPS://h.example:8080/", "/", nil),
            ("http://h.example", "/", nil),
            ("http://h.example?q", "/", "q"),
            ("http://h.example/fetch/http://o/a?b", "/fetch/http://o/a", "b"),
        ] as [(String, String, String?)])
    func absoluteForm(target: String, path: String, query: String?) async throws {
        let request = try await request("GET \(target) HTTP/1.1\r\nHost: other\r\n\r\n")
        #expect(request.host == (target.contains(":8080") ? "h.example:8080" : "h.example"))
        #expect(request.target == path + (query.map { "?" + $0 } ?? ""))
        #expect(request.path == path)
        #expect(request.query == query)
    }

    @Test(
        "An absolute target without a host or with an invalid authority is not split into parts (RFC 9110 §4.2)",
        arguments: [
            "http:///p", "http://?q", "http://u:p@h.example/p", "http://h.example#f/p", "http://h\\/p",
            "http://[::1]h.example/p", "http://127.0.0.1:h.example/p",
        ])
    func notAbsoluteForm(target: String) async throws {
        let request = try await request("GET \(target) HTTP/1.1\r\nHost: h.example\r\n\r\n")
        #expect(request.target == target)
        #expect(request.host == "h.example")
    }

    @Test("A copy of a request with a shortened target also has a shortened path; the original is unchanged")
    func targetPrefix() async throws {
        let request = try await request("GET http://h.example/@ci/a/b?q=/@x HTTP/1.1\r\nHost: test\r\n\r\n")
        let rest = request.droppingTargetPrefix(4)
        #expect(rest.target == "/a/b?q=/@x")
        #expect(rest.withTarget { Array($0) } == Array("/a/b?q=/@x".utf8))
        #expect(rest.path == "/a/b")
        #expect(rest.query == "q=/@x")
        #expect(rest.method == "GET" && rest.field("Host") == "test")
        #expect(rest.droppingTargetPrefix(2).path == "/b")
        #expect(request.path == "/@ci/a/b")
    }

    @Test("Bytes that are not UTF-8 reach the handler unchanged")
    func targetBytes() async throws {
        let request = try await request(
            Array("GET /".utf8) + [0xff, 0xfe] + Array(" HTTP/1.1\r\nHost: test\r\nX: ".utf8) + [0xe4]
                + Array("\r\n\r\n".utf8))
        #expect(request.withTarget { Array($0) } == [0x2f, 0xff, 0xfe])
        var value: [UInt8] = []
        request.forEachFieldLine { if $0.name.count == 1 { value = Array($0.value) } }
        #expect(value == [0xe4])
    }

    @Test("All field lines reach the handler in order, with trimmed values")
    func fields() async throws {
        let request = try await request(
            "GET / HTTP/1.1\r\nHost: test\r\nX-One:  a \t\r\nx-two: b\r\nX-ONE: c\r\nX-Empty:\r\nX-One: d, e\r\n\r\n")
        let one = try #require(HTTPField.Name("X-One"))
        #expect(request.fields[values: one] == ["a", "c", "d, e"])
        #expect(request.fields.map(\.name.rawName) == ["Host", "X-One", "x-two", "X-ONE", "X-Empty", "X-One"])
        #expect(request.field("x-ONE") == "a")
        #expect(request.field("X-Two") == "b")
        #expect(request.field("x-empty") == "")
        #expect(request.field("X-Three") == nil)
    }

    @Test("A field line with a name that is not a token is absent from the fields, but not from the raw field lines")
    func oddNames() async throws {
        let request = try await request("GET / HTTP/1.1\r\nHost: test\r\nOdd(name): a\r\nSpace : b\r\n\r\n")
        var names: [String] = []
        request.forEachFieldLine { names.append(String(decoding: $0.name, as: UTF8.self)) }
        #expect(names == ["Host", "Odd(name)", "Space "])
        #expect(request.fields.map(\.name.rawName) == ["Host"])
    }

    @Test("All 150 fields of a request, of many sizes, reach the handler")
    func manyFields() async throws {
        let lines = (0..<150).map { "N\($0): \(String(repeating: "v", count: $0 % 40))" }
        let head = (["GET / HTTP/1.1", "Host: test"] + lines + ["", ""]).joined(separator: "\r\n")
        let request = try await request(head)
        #expect(request.fields.count == 151)
        for index in 0..<150 {
            #expect(request.field("n\(index)") == String(repeating: "v", count: index % 40))
        }
        #expect(request.headLength == head.utf8.count)
    }

    @Test("Method, version, address and length match the request that the client sent")
    func basics() async throws {
        let get = try await request("GET / HTTP/1.1\r\nHost: test\r\n\r\n")
        #expect(get.method == "GET")
        #expect(get.version == "HTTP/1.1")
        #expect(get.remoteAddress == "127.0.0.1")
        #expect(get.declaredLength == nil)
        #expect(!get.hasBody)
        #expect(!get.isHead)
        let put = try await request("purge /x HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc")
        #expect(put.method == "purge")
        #expect(put.version == "HTTP/1.0")
        #expect(put.declaredLength == 3)
        #expect(put.hasBody)
        let chunked = try await request(
            "PUT / HTTP/1.1\r\nHost: test\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        #expect(chunked.declaredLength == nil)
        #expect(chunked.hasBody)
    }

    @Test("An IPv4 client of an IPv6 socket has an IPv4 address")
    func mappedAddress() async throws {
        let seen = Mailbox<String>()
        let handler = Handler.answering { exchange in
            seen.put(exchange.request.remoteAddress)
            return Response()
        }
        try await withDaemon(handler, configure: { $0.host = "::" }) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.request("GET", "/")
            #expect(try seen.wait() == ["127.0.0.1"])
        }
    }
}
