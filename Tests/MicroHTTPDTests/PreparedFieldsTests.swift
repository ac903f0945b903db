import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import MicroHTTPD

@Suite("Prepared fields")
struct PreparedFieldsTests {
    private static let common: HTTPFields = [.acceptRanges: "bytes", .vary: "Authorization", .vary: "Origin"]

    /// The answers that a client receives to two requests on one connection; both requests get the response.
    private func sent(_ response: Response, _ method: String = "GET") async throws -> [RawClient.Answer] {
        let answers = Locked<[RawClient.Answer]>([])
        try await withDaemon(Handler.answering { _ in response }) { daemon in
            let client = try RawClient(port: daemon.port)
            for _ in 0..<2 {
                try client.request(method, "/")
                let answer = try client.answer(toHead: method == "HEAD")
                answers.withLock { $0.append(answer) }
            }
        }
        return answers.withLock { $0 }
    }

    @Test(
        "Prepared fields are sent exactly like the same fields in HTTPFields, whether added singly or together",
        arguments: ["GET", "HEAD"])
    func sentAlike(method: String) async throws {
        let body = Response.Body.bytes(SharedBytes(pattern(100)))
        var fields: HTTPFields = [.eTag: "\"a\"", .contentType: "text/plain; charset=\u{fc}"]
        fields.append(contentsOf: Self.common)
        var pieces = PreparedFields()
        pieces.append("ETag", "\"a\"")
        pieces.append("Content-Type", "text/plain; charset=\u{fc}")
        pieces.append(PreparedFields(Self.common))
        let expected = try await sent(Response(fields: fields, body: body), method)
        for prepared in [pieces, PreparedFields(fields)] {
            let response = Response(fields: prepared, body: body)
            #expect(response.fields == fields)
            let answers = try await sent(response, method)
            for (answer, expected) in zip(answers, expected) {
                #expect(answer.fields.map(\.name) == expected.fields.map(\.name))
                for name in ["ETag", "Content-Type", "Accept-Ranges", "Vary", "Content-Length"] {
                    #expect(answer.values(name) == expected.values(name), "\(name)")
                    #expect(!answer.values(name).isEmpty, "\(name)")
                }
                #expect(answer.body == expected.body)
            }
        }
    }

    @Test("Prepared fields reject values with control characters, and fields that the daemon itself sends")
    func unsafe() {
        var fields = PreparedFields()
        fields.append("X-Split", "a\r\nX-Injected: b")
        fields.append("X-Control", "a\u{1}b")
        #expect(fields.fields == [:])
        fields.append(PreparedFields())
        fields.append(
            PreparedFields([
                .connection: "close", .contentLength: "99", .transferEncoding: "chunked",
                .date: "Sat, 31 Jan 2026 08:05:09 GMT",
            ]))
        #expect(fields.fields == [:])
        fields.append("X-Good", "a\tb")
        #expect(fields.fields.map { "\($0.name): \($0.value)" } == ["X-Good: a\tb"])
    }

    @Test("A field with an empty value is sent, alone or at any place among other fields")
    func empty() async throws {
        for names in [["A"], ["A", "B"], ["A", "B", "C"], ["B", "A"], ["B", "A", "C"]] {
            var fields = HTTPFields()
            for name in names {
                fields.append(HTTPField(name: HTTPField.Name("X-" + name)!, value: name == "B" ? "b" : ""))
            }
            for response in [
                Response(fields: fields, body: .empty), Response(fields: PreparedFields(fields), body: .empty),
            ] {
                let answers = try await sent(response, "GET")
                #expect(!answers.isEmpty)
                for answer in answers {
                    let own = answer.fields.filter { $0.name.hasPrefix("X-") }
                    #expect(own.map(\.name) == names.map { "X-" + $0 })
                    #expect(own.map(\.value) == names.map { $0 == "B" ? "b" : "" })
                }
            }
        }
    }

    @Test("A copy of prepared fields can grow without changing the original")
    func copies() {
        let common = PreparedFields(Self.common)
        for number in 0..<3 {
            var own = common
            own.append("X-Number", "\(number)")
            #expect(own.fields == Self.common + [HTTPField(name: HTTPField.Name("X-Number")!, value: "\(number)")])
        }
        #expect(common.fields == Self.common)
        var none = PreparedFields()
        none.append(common)
        #expect(none.fields == Self.common)
    }

    @Test("An answer that closes its connection sends Connection: close before the prepared fields")
    func closing() async throws {
        let response = Response(fields: PreparedFields(Self.common), body: .bytes(SharedBytes(pattern(10))))
        try await withDaemon(Handler.answering { _ in response }) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
            let answer = try client.answer()
            #expect(answer.values("Connection") == ["close"])
            let own = answer.fields.map(\.name).filter { ["Connection", "Accept-Ranges", "Vary"].contains($0) }
            #expect(own == ["Connection", "Accept-Ranges", "Vary", "Vary"])
            #expect(answer.values("Vary") == ["Authorization", "Origin"])
            #expect(try client.isAtEnd())
        }
    }
}
