import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("End-to-end fields")
struct EndToEndFieldsTests {
    @Test(
        "Connection fields and proxy fields are dropped, in any letter case",
        arguments: [
            // RFC 9110 §7.6.1: fields about the connection.
            "Connection", "Keep-Alive", "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade",
            // RFC 9110 §6.6.2: Trailer describes this message only.
            "Trailer",
            // RFC 9111 §3.1: fields about the proxy.
            "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
        ])
    func hopByHop(name: String) throws {
        for name in [name, name.lowercased(), name.uppercased()] {
            let dropped = HTTPField(name: try #require(HTTPField.Name(name)), value: "x")
            let kept = HTTPField(name: .date, value: "y")
            #expect(Array(HTTPFields([dropped, kept, dropped]).endToEnd()) == [kept])
        }
    }

    @Test(
        "Fields that Connection names are dropped (RFC 9110 §7.6.1)",
        arguments: [
            (["Foo"], ["Foo"]),
            (["foo"], ["Foo"]),
            (["close, FOO"], ["Foo"]),
            ([" ,Foo\t,, Bar ,"], ["Foo", "Bar"]),
            (["Foo", "Bar"], ["Foo", "Bar"]),
            (["close"], []),
            ([""], []),
            (["Fo", "Foo-Bar", "F oo"], []),
        ] as [([String], Set<String>)])
    func named(lines: [String], dropped: Set<String>) throws {
        let connection = lines.map { HTTPField(name: .connection, value: $0) }
        let others = try ["Foo", "Bar", "Foo", "Baz"].map { HTTPField(name: try #require(.init($0)), value: "x") }
        let fields = HTTPFields(others + connection).endToEnd()
        #expect(Array(fields) == others.filter { !dropped.contains($0.name.rawName) })
    }

    @Test("End-to-end fields keep order, letter case, repeated lines, empty values and non-UTF-8 bytes")
    func unchanged() throws {
        let names = [
            "sEt-cOOkie", "Date", "Set-Cookie", "Set-Cookie", "X-Empty", "Age", "WWW-Authenticate", "Authorization",
            "Authentication-Info", "Via", "Warning", "Content-Length", "Expect", "Host", "MIME-Version", "Trailers",
        ]
        var fields = try names.map { HTTPField(name: try #require(.init($0)), value: $0 == "X-Empty" ? "" : "\($0)") }
        fields.append(HTTPField(name: .server, value: [0x66, 0xFC, 0x72]))
        let kept = HTTPFields(fields).endToEnd()
        #expect(Array(kept) == fields)
        #expect(kept.map(\.name.rawName) == fields.map(\.name.rawName))
    }
}
