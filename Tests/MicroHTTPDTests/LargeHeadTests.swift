import Foundation
import HTTPTypes
import MicroHTTPD
import Testing

@Suite("Large heads of requests")
struct LargeHeadTests {
    /// Refuses a defective request with its reason, repeated to make the answer larger. Accepts every other request.
    private static let handler = Handler { request in
        if let defect = request.defect {
            return .refuse(Response(status: defect.status, text: String(repeating: defect.reason, count: 5)))
        }
        return .accept(.none) {
            $0.respond(Response(text: "fits", fields: [.eTag: String(repeating: "e", count: 300)]))
        }
    }

    /// The part of a request head that contains most of the head's bytes.
    enum Shape: CaseIterable {
        case target, query, arguments, value, fields, cookie

        func head(_ size: Int) -> String {
            func fill(_ piece: String) -> String { String(repeating: piece, count: size / piece.utf8.count) }
            let (target, lines) =
                switch self {
                case .target: ("/" + fill("a"), "")
                case .query: ("/?" + fill("a"), "")
                case .arguments: ("/?" + fill("a=b&"), "")
                case .value: ("/", "X: " + fill("a") + "\r\n")
                case .fields: ("/", fill("N: abcdefghijklmnopqrst\r\n"))
                case .cookie: ("/", "Cookie: " + fill("a") + "\r\n")
                }
            return "GET \(target) HTTP/1.1\r\nHost: test\r\n\(lines)\r\n"
        }
    }

    @Test("A head of any size and shape gets an answer, never a silent close", arguments: Shape.allCases)
    func everySize(shape: Shape) async throws {
        let configure: (inout DaemonConfiguration) -> Void = {
            $0.refusal = { Response(status: $0.status, text: $0.reason) }
        }
        try await withDaemon(Self.handler, configure: configure) { daemon in
            var statuses: [Int] = []
            for size in stride(from: 1024, through: 33 * 1024, by: 256) {
                let client = try RawClient(port: daemon.port)
                try client.send(shape.head(size))
                let answer = try client.answer()
                if answer.status == 200 {
                    #expect(answer.text == "fits")
                } else {
                    #expect(answer.status == 431 || answer.status == 414)
                    #expect(answer["Connection"]?.lowercased() == "close")
                }
                statuses.append(answer.status)
            }
            // The daemon answers the smaller heads, and refuses every head above a certain size.
            #expect(statuses.first == 200)
            #expect(statuses.last != 200)
            #expect(statuses == statuses.sorted { ($0 == 200 ? 0 : 1) < ($1 == 200 ? 0 : 1) })
        }
    }

    @Test("An overlong target gets 414, any other oversized head 431, from the daemon and not from libmicrohttpd")
    func tooLong() async throws {
        let configure: (inout DaemonConfiguration) -> Void = {
            $0.refusal = { Response(status: $0.status, text: "\($0)") }
        }
        try await withDaemon(Self.handler, configure: configure) { daemon in
            let limit = DaemonConfiguration().targetLimit
            func answer(target: Int, value: Int) throws -> RawClient.Answer {
                let client = try RawClient(port: daemon.port)
                try client.request("GET", "/" + String(repeating: "a", count: target - 1))
                let answer = try client.answer()
                guard answer.status == 200, value > 0 else { return answer }
                try client.request("GET", "/", fields: ["X: " + String(repeating: "b", count: value)])
                return try client.answer()
            }
            let whole = try answer(target: limit, value: 0)
            #expect(whole.status == 200)
            for size in [limit + 1, 16_000, 33_000, 100_000] {
                let refusal = try answer(target: size, value: 0)
                #expect(refusal.status == 414, "\(size)")
                if size > 32 << 10 { #expect(refusal.text == "targetTooLong") }
            }
            for size in [17_000, 33_000, 100_000] {
                let refusal = try answer(target: 10, value: size)
                #expect(refusal.status == 431, "\(size)")
                if size > 32 << 10 { #expect(refusal.text == "headTooLarge") }
            }
        }
    }

    @Test("If a request head is too large, the client gets the answer that the handler chose")
    func refusal() async throws {
        let fields: HTTPFields = [.contentType: "text/plain", .connection: "x"]
        let handler = Handler { request in
            guard let defect = request.defect else { return .accept(.none) { $0.respond(Response()) } }
            return .refuse(Response(status: defect.status, text: "too large", fields: fields))
        }
        try await withDaemon(handler) { daemon in
            for method in ["GET", "HEAD"] {
                let client = try RawClient(port: daemon.port)
                try client.request("GET", "/")
                #expect(try client.answer().status == 200)
                try client.request(method, "/", fields: ["X: " + String(repeating: "x", count: 20_000)])
                let answer = try client.answer(toHead: method == "HEAD")
                #expect(answer.status == 431)
                #expect(answer.text == (method == "HEAD" ? "" : "too large"))
                #expect(answer["Content-Type"] == "text/plain")
                #expect(answer["Content-Length"] == "9")
                #expect(answer.values("Connection") == ["close"])
                #expect(answer["Date"]?.hasSuffix(" GMT") == true)
                #expect(answer["Date"]?.utf8.count == 29)
                #expect(try client.isAtEnd())
            }
        }
    }
}
