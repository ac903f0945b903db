import DiskCache
import HTTPTypes
import Origin
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Places for transfers from origins")
struct GatewayPlacesTests {
    private func request(_ url: String) throws -> GatewayRequest {
        GatewayRequest(method: .get, url: try ExactURL(url), fields: [:])
    }

    /// An origin that sends a cacheable head, and only `beginning` of the body; not even a head when `beginning` is
    /// `nil`.
    private func trickling(_ over: Gate, beginning: String? = "x") throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            guard request.target.hasPrefix("/slow") else { return try connection.respond(body: "ok") }
            if let beginning {
                try connection.sendHead(fields: [.cacheControl: "max-age=60", .contentLength: "1000"])
                try connection.send(beginning)
            }
            try over.waitBlocking()
            if beginning == nil { try connection.respond(body: "late") }
        }
    }

    /// Sends two requests, and lets their clients leave.
    private func takePlaces(of gateway: Gateway, at origin: ScriptedOrigin) async throws {
        for number in 0..<2 {
            let place = gateway.fetch(try request(origin.url("/slow\(number)"))) { result in
                if case .success(let answer) = result, case .live(let live) = answer.body { live.dismiss() }
            }
            try await origin.waitForRequests(number + 1)
            place.leave()
        }
    }

    /// Sends another request, and waits for its answer.
    private func isAnswered(by gateway: Gateway, from origin: ScriptedOrigin) async throws {
        let answered = Counter("answers")
        gateway.fetch(try request(origin.url("/ok"))) { result in
            if case .success(let answer) = result, answer.status == 200 { answered.add() }
        }
        try await answered.wait(for: 1)
    }

    @Test(
        "A fetch without clients gives up its place when another request needs a place",
        arguments: [nil, "x"] as [String?], [2, 10])
    func giveWay(beginning: String?, perHost: Int) async throws {
        let over = Gate("the end")
        let origin = try trickling(over, beginning: beginning)
        defer { origin.stop() }
        try await TestGateway.with(configure: { ($0.maxTransfers, $0.maxTransfersPerHost) = (2, perHost) }) {
            (gateway) async throws in
            try await takePlaces(of: gateway, at: origin)
            try await isAnswered(by: gateway, from: origin)
            over.open()
        }
    }

    @Test("A fetch without clients gives up its place even to a request of another namespace")
    func giveWayToAnother() async throws {
        let over = Gate("the end")
        let origin = try trickling(over)
        defer { origin.stop() }
        try await TestGateway.with(configure: { ($0.maxTransfers, $0.maxTransfersPerHost) = (2, 2) }) {
            (gateway) async throws in
            try await takePlaces(of: gateway, at: origin)
            try await isAnswered(by: Gateway(tools: gateway.tools, group: gateway.group), from: origin)
            over.open()
        }
    }

    @Test("If a client leaves while too many fetches run, its waiting request is never sent to the origin")
    func neverDeparts() async throws {
        let over = Gate("the end")
        let origin = try trickling(over, beginning: nil)
        defer { origin.stop() }
        try await TestGateway.with(configure: { ($0.maxTransfers, $0.maxTransfersPerHost) = (1, 1) }) {
            (gateway) async throws in
            gateway.fetch(try request(origin.url("/slow"))) { _ in }
            try await origin.waitForRequests(1)
            gateway.fetch(try request(origin.url("/ok"))) { _ in }.leave()
            try await poll("the second to end") { gateway.fetchCount == 1 }
            over.open()
            try await poll("the first to end") { gateway.fetchCount == 0 }
            #expect(origin.requests.map(\.target).allSatisfy { $0 == "/slow" })
        }
    }

    @Test("If a client leaves before its request is dispatched, the request is freed when its fetch ends")
    func leftBefore() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "ok") }
        defer { origin.stop() }
        try await TestGateway.with { (gateway) async throws in
            weak var held: GatewayCall?
            do {
                let call = GatewayCall(try request(origin.url("/")), interim: { _, _ in }, completion: { _ in })
                held = call
                call.leave()
                gateway.dispatch(call)
            }
            try await poll("the request to be over and forgotten") { gateway.fetchCount == 0 && held == nil }
        }
    }

    @Test("A request that gets no place within the time limit gets a permitted stale response, or else a timeout")
    func turn() async throws {
        let over = Gate("the end")
        let origin = try ScriptedOrigin { request, connection in
            if request.target == "/slow" { try over.waitBlocking() }
            let isStale = request.target == "/stale"
            try connection.respond(
                fields: [.cacheControl: isStale ? "max-age=0, stale-if-error=600" : "no-store"], body: "ok")
        }
        defer { origin.stop() }
        try await TestGateway.with(configure: {
            ($0.maxTransfers, $0.maxTransfersPerHost, $0.queueTimeout) = (1, 1, .milliseconds(20))
        }) { (gateway) async throws in
            gateway.fetch(try request(origin.url("/stale"))) { result in
                if case .success(let answer) = result, case .live(let live) = answer.body { live.dismiss() }
            }
            try await poll("the stored response") { gateway.fetchCount == 0 && gateway.tools.cache.totals.entries == 1 }
            gateway.fetch(try request(origin.url("/slow"))) { _ in }
            try await origin.waitForRequests(2)
            let stale = Counter("stale answers")
            gateway.fetch(try request(origin.url("/stale"))) { result in
                if case .success(let answer) = result, answer.status == 200, case .pieces = answer.body { stale.add() }
            }
            try await stale.wait(for: 1)
            let refused = Counter("refusals")
            gateway.fetch(try request(origin.url("/ok"))) { result in
                if case .failure(let error) = result, case .origin(.timedOut) = error.cause { refused.add() }
            }
            try await refused.wait(for: 1)
            #expect(origin.requestCount == 2)
            over.open()
        }
    }
}

@Suite("A request to an origin that hangs")
struct GatewayPatienceTests {
    @Test("When the first request of a fetch hangs, requests that wait for it ask the origin after a time limit")
    func followers() async throws {
        let hanging = Gate("the first answer")
        let origin = try ScriptedOrigin { request, connection in
            if request.index == 0 { try hanging.waitBlocking() }
            // The origin forbids storing, because otherwise a request might find the answer to another request in the
            // cache.
            try connection.respond(fields: [.cacheControl: "no-store"], body: "\(request.index)")
        }
        defer { origin.stop() }
        try await TestGateway.with(patience: .milliseconds(50)) { (gateway) async throws in
            let request = GatewayRequest(method: .get, url: try ExactURL(origin.url("/a")), fields: [:])
            let answered = Counter("answers")
            gateway.fetch(request) { _ in answered.add() }
            try await origin.waitForRequests(1)
            for _ in 0..<3 { gateway.fetch(request) { _ in answered.add() } }
            // Each follower asks the origin itself, and no follower waits for the leader.
            try await answered.wait(for: 3)
            #expect(!hanging.isOpen)
            hanging.open()
            try await answered.wait(for: 4)
            #expect(origin.requestCount == 4)
        }
    }
}

@Suite("The first request of a fetch")
struct GatewayLeaderTests {
    @Test(
        "Before a request asks the origin, it looks for a stored answer again, and uses one stored since the first look"
    )
    func looksAgain() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: "ok")
        }
        defer { origin.stop() }
        try await TestGateway.with { (gateway) async throws in
            let request = GatewayRequest(method: .get, url: try ExactURL(origin.url("/a")), fields: [:])
            let answered = Counter("answers")
            let hits = Counter("hits")
            let late = GatewayCall(request, interim: { _, _ in }) { result in
                if case .success(let answer) = result, answer.status == 200 { hits.add() }
            }
            let looked = await withCheckedContinuation { looked in gateway.lookUp(late) { looked.resume(returning: $0) }
            }
            #expect(looked.selected == nil && looked.anyOther == nil)
            // Another request is answered, and its fetch ends.
            gateway.fetch(request) { result in
                if case .success(let answer) = result, case .live(let live) = answer.body { live.dismiss() }
                answered.add()
            }
            try await answered.wait(for: 1)
            try await poll("its answer to be stored") { gateway.fetchCount == 0 }
            gateway.send(late, held: looked.selected, anyOther: looked.anyOther, changes: looked.changes)
            try await hits.wait(for: 1)
            #expect(origin.requestCount == 1)
        }
    }
}

@Suite("The upload of a request body to the origin")
struct GatewayUploadTests {
    /// Writes at the origin's pace until the upload is closed.
    private func produce(into upload: GatewayUpload, until over: Gate) {
        let piece = SharedBytes([UInt8](repeating: 7, count: 64 << 10))
        while true {
            switch upload.write(piece) {
            case .room: continue
            case .full: return upload.onRoom { produce(into: upload, until: over) }
            case .closed: return over.open()
            }
        }
    }

    @Test("An upload to an origin that echoes it does not hang, even while the client does not read the answer")
    func echo() async throws {
        let echo = try Listener { stream, _ in
            while let line = try? stream.readLine(), !line.isEmpty {}
            guard (try? stream.send("HTTP/1.1 200 OK\r\n\r\n")) != nil else { return }
            while let some = try? stream.readSome(), !some.isEmpty {
                guard (try? stream.send(some)) != nil else { return }
            }
        }
        defer { echo.stop() }
        try await TestGateway.with(patience: .milliseconds(50)) { (gateway) async throws in
            let upload = GatewayUpload(length: nil)
            var request = GatewayRequest(
                method: .post, url: try ExactURL("http://127.0.0.1:\(echo.port)/a"), fields: [:])
            request.upload = upload
            gateway.fetch(request) { _ in }
            let over = Gate("the end of the upload")
            produce(into: upload, until: over)
            try await over.wait()
            try await poll("the request to end") { gateway.fetchCount == 0 }
        }
    }
}
