import DiskCache
import HTTPTypes
import Logging
import MicroHTTPD
import Primitives
import TestSupport
import Testing

@testable import Larder
@testable import LarderAPI

/// Tests of `ReadyAnswers` alone. Each test itself makes the answers that are kept, from an entry in memory.
@Suite("The keeping of ready answers")
struct ReadyKeepingTests {
    /// Sends the ready answer if there is one. Otherwise calls `run`, and answers with the text "looked at".
    private final class Handler: RequestHandler {
        let ready: ReadyAnswers
        let namespace: Namespace
        let run: @Sendable (String, Call) -> Void

        init(_ ready: ReadyAnswers, _ namespace: Namespace, _ run: @escaping @Sendable (String, Call) -> Void) {
            self.ready = ready
            self.namespace = namespace
            self.run = run
        }

        func expect(_ target: UnsafeRawBufferPointer) -> Int { ready.expect(target) }

        func readyResponse(to head: borrowing RawHead) -> ReadyResponse { ready.answer(to: head) }

        func receive(_ request: Request) -> Reception {
            .accept(.none) { [run, namespace] exchange in
                let visitor = AccessGate.Visitor(bearer: nil, origin: nil)
                let context = RequestContext(
                    request: request, pathPrefix: "", operation: "test", visitor: visitor, namespace: namespace,
                    metrics: RequestMetrics(operations: []), vary: nil, isFenced: false,
                    logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }), changedNamespace: nil,
                    observer: { _, _ in })
                let call = Call(exchange: exchange, context: context)
                run(request.target, call)
                call.respond(Response(body: .bytes(SharedBytes("looked at".utf8))))
            }
        }
    }

    private static func response(_ text: String) -> Response {
        Response(body: .bytes(SharedBytes(text.utf8)))
    }

    /// Starts a server that calls `run` for each request without a ready answer, with the mark of an entry in memory.
    private func serve(
        _ run: @escaping @Sendable (ReadyAnswers, HotEntry.Mark, String, Call) -> Void,
        _ body: (TestServer, ReadyAnswers, HTTPClient) async throws -> Void
    ) async throws {
        try await TestServer.with { (server) async throws in
            try await server.put("k", Array("one".utf8), query: "ttl=600")
            let cache = server.space.cache
            _ = try await cache.stored("k")
            let mark = try #require(try await cache.stored("k")?.hot)
            let ready = ReadyAnswers(
                service: server.service, gate: AccessGate(tokens: nil, web: WebGuard(hosts: nil, origins: [])))
            let daemon = Daemon(
                handler: Handler(ready, server.space) { target, call in run(ready, mark, target, call) })
            try daemon.start()
            do {
                try await body(server, ready, HTTPClient(port: daemon.port))
            } catch {
                await daemon.stop(deadline: .zero)
                throw error
            }
            await daemon.stop(deadline: .seconds(5))
        }
    }

    @Test(
        "Larder keeps no ready answer to HEAD, to a request with fields that change the answer, or for a changed entry"
    )
    func asksFirst() async throws {
        let made = Counter("made")
        let keep: @Sendable (ReadyAnswers, HotEntry.Mark, String, Call) -> Void = { ready, mark, _, call in
            ready.keep(to: call, madeOf: mark, renews: false) { now in
                made.add()
                return (Self.response("kept"), now + .seconds(1))
            }
        }
        try await serve(keep) { (server, ready, client) async throws in
            for (method, fields) in [
                ("HEAD", [:]), ("GET", [.range: "bytes=0-"]), ("GET", [.cacheControl: "no-cache"]),
                ("GET", [HTTPField.Name("Origin")!: "null"]), ("GET", [HTTPField.Name("Sec-Fetch-Dest")!: "worker"]),
            ] as [(String, HTTPFields)] {
                _ = try await client.request(method, "/a", fields: fields)
            }
            #expect(made.value == 0)
            #expect(try await client.request("GET", "/a").text == "looked at")
            #expect(made.value == 1)
            #expect(try await client.request("GET", "/a").text == "kept")
            // `slide` renews the expiry date after the mark was made, so no answer is made from the mark.
            _ = server.space.cache.slide(try #require(try server.space.cache.entry(for: "k")))
            #expect(try await client.request("GET", "/b").text == "looked at")
            #expect(made.value == 1)
            #expect(ready.count == 0)
        }
    }

    @Test("A renewed ready answer is sent, but not kept if its entry gets too many ready answers during the renewal")
    func refusedMeanwhile() async throws {
        let others = Recorder<Call>()
        let keep: @Sendable (ReadyAnswers, HotEntry.Mark, String, Call) -> Void = { ready, mark, target, call in
            guard target == "/a" else { return others.append(call) }
            let made = Counter("made")
            ready.keep(to: call, madeOf: mark, renews: true) { now in
                if made.add() == 2 {
                    for other in others.elements {
                        ready.keep(to: other, madeOf: mark, renews: false) { now in
                            (Self.response("other"), now + .seconds(100))
                        }
                    }
                }
                return (Self.response("made \(made.value)"), now + .seconds(1))
            }
        }
        try await serve(keep) { (server, ready, client) async throws in
            for path in ["/b", "/c", "/d", "/e", "/a"] {
                #expect(try await client.request("GET", path).text == "looked at")
            }
            #expect(try await client.request("GET", "/a").text == "made 1")
            #expect(ready.count == 1)
            server.clock.advance(by: .seconds(2))
            #expect(try await client.request("GET", "/a").text == "made 2")
            for path in ["/b", "/c", "/d", "/e"] { #expect(try await client.request("GET", path).text == "other") }
            #expect(ready.count == 4)
            server.space.cache.trimMemory(toBytes: 0)
            #expect(ready.count == 0)
        }
    }

    @Test("The renewal of a ready answer frees the old answer and keeps only the new answer")
    func oldOneIsFreed() async throws {
        // `@unchecked Sendable` is safe because a single thread sets the property before it is read.
        final class Weak: @unchecked Sendable {
            weak var response: Response?
        }
        let (first, made) = (Weak(), Counter("made"))
        let keep: @Sendable (ReadyAnswers, HotEntry.Mark, String, Call) -> Void = { ready, mark, _, call in
            ready.keep(to: call, madeOf: mark, renews: true) { now in
                let response = Self.response("made \(made.add())")
                if made.value == 1 { first.response = response }
                return (response, now + .seconds(1))
            }
        }
        try await serve(keep) { (server, ready, client) async throws in
            _ = try await client.request("GET", "/a")
            #expect(try await client.request("GET", "/a").text == "made 1")
            #expect(first.response != nil)
            server.clock.advance(by: .seconds(2))
            #expect(try await client.request("GET", "/a").text == "made 2")
            try await poll("the old answer to be freed") { first.response == nil }
            #expect(ready.count == 1)
        }
    }

    @Test("Of many ready answers for one target, Larder prefetches at most three into the processor's cache")
    func fewFetchedAhead() async throws {
        try await TestServer.with { (server) async throws in
            let cache = server.space.cache
            var shard = ReadyShard()
            let target = Array("/fetch/http://a.example/".utf8)
            for number in 0..<10 {
                try await server.put("k\(number)", Array("one".utf8), query: "ttl=600")
                _ = try await cache.stored("k\(number)")
                let mark = try #require(try await cache.stored("k\(number)")?.hot)
                let selector = ReadyAnswer.Selector(name: Array("accept".utf8), value: [UInt8(number)])
                let answer = ReadyAnswer(
                    to: .init(namespace: 0, target: target, ttl: nil, selectors: [selector]),
                    response: Self.response("a"),
                    validity: .init(entry: mark, responses: nil, from: server.clock.now(), until: .distantFuture),
                    meter: nil, renew: nil)
                shard.insert(answer, ReadyMemory(of: answer))
                #expect(shard.count == number + 1)
                #expect(shard.prefetch(target.withUnsafeBytes(ReadyAnswer.hash)) == min(number + 1, 3))
            }
        }
    }
}
