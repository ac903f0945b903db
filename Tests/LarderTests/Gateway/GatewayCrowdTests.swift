import HTTPCaching
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Many requests for one URL")
struct GatewayCrowdTests {
    private let selecting = HTTPField.Name("X")!
    private let url = "http://a.example/"

    private func request(_ url: String, _ fields: HTTPFields) throws -> GatewayRequest {
        GatewayRequest(method: .get, url: try ExactURL(url), fields: fields)
    }

    private func call(_ url: String, _ fields: HTTPFields = [:]) throws -> GatewayCall {
        GatewayCall(try request(url, fields), interim: { _, _ in }) { _ in }
    }

    /// Makes fetches, and does not start them.
    private func fetches(
        _ count: Int, to url: String, of gateway: Gateway, _ fields: (Int) -> HTTPFields = { _ in [:] }
    ) throws -> [GatewayFetch] {
        try (0..<count).map { number in
            let call = try call(url, fields(number))
            return GatewayPolicy.makeFetch(
                for: call, held: nil, isValidating: false, isShared: true, isKeepExpected: true, gateway: gateway)
        }
    }

    private func head(varyingBy fields: HTTPFields) throws -> StoredResponse {
        let answer: HTTPFields = [.vary: "X", .cacheControl: "max-age=60"]
        let now = SystemClock().now()
        return StoredResponse(
            url: url, status: 200, fields: answer, requestedAt: now, receivedAt: now,
            selection: try #require(SelectingFields(vary: answer, request: fields)))
    }

    @Test(
        "The cost of a request with its own token does not depend on the number of fetches; equal tokens share a fetch",
        .timeLimit(.minutes(1)))
    func tokens() async throws {
        let count = 4_000
        let over = Gate("the end")
        let origin = try ScriptedOrigin { _, connection in
            try over.waitBlocking(limit: .seconds(60))
            try connection.respond(body: "late")
        }
        defer { origin.stop() }
        defer { over.open() }
        try await TestGateway.with(configure: { ($0.maxTransfers, $0.maxTransfersPerHost) = (2, 2) }) {
            (gateway) async throws in
            let url = origin.url("/a")
            for number in 0..<count { gateway.fetch(try request(url, [.authorization: "Bearer \(number)"])) { _ in } }
            try await poll("all requests to have a fetch") { gateway.fetchCount == count }
            for number in [0, count / 2, count - 1] {
                gateway.fetch(try request(url, [.authorization: "Bearer \(number)"])) { _ in }
            }
            try await poll("the requests with an earlier token to wait") { gateway.tools.metrics.joins.value == 3 }
            #expect(gateway.fetchCount == count)
            gateway.stop()
            over.open()
            try await poll("all fetches to end") { gateway.fetchCount == 0 }
        }
    }

    @Test("A request may join only the newest 64 fetches with the same Authorization field")
    func waiting() async throws {
        try await TestGateway.with { (gateway) async throws in
            var table = GatewayFetchTable()
            let strangers = try fetches(1_000, to: url, of: gateway) { [.authorization: "Bearer \($0)"] }
            let alike = try fetches(1_000, to: url, of: gateway)
            for fetch in strangers + alike { table.add(fetch, refreshing: nil) }
            #expect(table.count == 2_000)
            let known = try table.candidates(for: call(url, [.authorization: "Bearer 7"]))
            #expect(known.map(\.number) == [strangers[7].number])
            #expect(try table.candidates(for: call(url, [.authorization: "Bearer none"])).isEmpty)
            #expect(try table.candidates(for: call(url)).map(\.number) == alike.suffix(64).map(\.number))
            #expect(try table.candidates(for: call(url + "b")).isEmpty)
            for fetch in strangers + alike { table.remove(fetch) }
            #expect(table.count == 0)
            #expect(try table.candidates(for: call(url)).isEmpty)
        }
    }

    @Test("If the Vary of a URL is known, a request finds the fetch of its variant among a thousand fetches")
    func waitingForVariants() async throws {
        try await TestGateway.with { (gateway) async throws in
            var table = GatewayFetchTable()
            let known = try head(varyingBy: [:])
            let all = try fetches(1_000, to: url, of: gateway) { [selecting: "\($0)"] }
            for fetch in all { table.add(fetch, refreshing: nil, knowing: known) }
            for number in [0, 500, 999] {
                let found = try table.candidates(for: call(url, [selecting: "\(number)"]), knowing: known)
                #expect(found.map(\.number) == [all[number].number])
            }
            // A call with known variants also finds fetches that were added without known variants.
            let unknown = try fetches(1, to: url, of: gateway)[0]
            table.add(unknown, refreshing: nil)
            let found = try table.candidates(for: call(url, [selecting: "7"]), knowing: known)
            #expect(found.map(\.number) == [all[7].number, unknown.number])
            for fetch in all + [unknown] { table.remove(fetch) }
            #expect(try table.candidates(for: call(url, [selecting: "7"]), knowing: known).isEmpty)
        }
    }

    @Test("A request is offered the answered fetches of its variant, in the order in which these fetches began")
    func answers() async throws {
        try await TestGateway.with { (gateway) async throws in
            var table = GatewayFetchTable()
            let all = try fetches(1_000, to: url, of: gateway) { [selecting: "\($0 % 500)", .authorization: "\($0)"] }
            for fetch in all { table.add(fetch, refreshing: nil) }
            // The heads arrive in another order than the requests.
            for fetch in all.reversed() {
                let head = try head(varyingBy: fetch.policy.leader.request.fields)
                table.noteHead(head, of: fetch)
            }
            let selected = try table.answered(for: call(url, [selecting: "7"]))
            #expect(selected.map(\.number) == [all[7].number, all[507].number])
            #expect(try table.candidates(for: call(url, [selecting: "7"])).map(\.number) == selected.map(\.number))
            #expect(try table.answered(for: call(url)).isEmpty)
            #expect(table.latestHead(ofURL: url) != nil)
            // The answer is no longer available to other requests.
            table.noteHead(nil, of: all[507])
            #expect(try table.answered(for: call(url, [selecting: "7"])).map(\.number) == [all[7].number])
            for fetch in all { table.remove(fetch) }
            #expect(table.latestHead(ofURL: url) == nil)
            // The table keeps no trace of the removed fetches.
            let late = try fetches(2, to: url, of: gateway) { [selecting: "\($0)"] }
            for fetch in late { table.add(fetch, refreshing: nil) }
            #expect(table.latestHead(ofURL: url) == nil)
            #expect(try table.answered(for: call(url, [selecting: "1"])).isEmpty)
            table.noteHead(try head(varyingBy: late[1].policy.leader.request.fields), of: late[1])
            #expect(try table.answered(for: call(url, [selecting: "1"])).map(\.number) == [late[1].number])
        }
    }

    @Test("A fetch that refreshes a stored response is found by the key of that response until the fetch ends")
    func refreshing() async throws {
        try await TestGateway.with { (gateway) async throws in
            var table = GatewayFetchTable()
            let all = try fetches(3, to: url, of: gateway)
            table.add(all[0], refreshing: "a")
            table.add(all[1], refreshing: "b")
            table.add(all[2], refreshing: nil)
            #expect(table.refreshing("a").map(\.number) == [all[0].number])
            table.remove(all[0])
            #expect(table.refreshing("a").isEmpty)
            #expect(table.refreshing("b").map(\.number) == [all[1].number])
        }
    }

    @Test("A fetch that waits for a place seeks its holder among the oldest fetches, at most 64 more than the places")
    func places() async throws {
        try await TestGateway.with { (gateway) async throws in
            let group = GatewayGroup()
            let all = try fetches(1_000, to: url, of: gateway)
            for fetch in all { group.enter(fetch) }
            let ofOrigin = group.rivals(of: all[999], limitPerHost: 4, limit: 8)
            #expect(ofOrigin.map(\.number) == all.prefix(4 + 64).map(\.number))
            let other = try fetches(1, to: "http://b.example/", of: gateway)[0]
            group.enter(other)
            let ofAll = group.rivals(of: other, limitPerHost: 4, limit: 8)
            #expect(ofAll.map(\.number) == all.prefix(4).map(\.number))
            #expect(group.rivals(of: other, limitPerHost: 4, limit: 2_000).isEmpty)
            for fetch in all.dropFirst() { group.leave(fetch) }
            group.leave(all[1])
            #expect(group.rivals(of: other, limitPerHost: 4, limit: 1).map(\.number) == [all[0].number])
            #expect(group.rivals(of: other, limitPerHost: 4, limit: 2).isEmpty)
            // The last fetch of the first origin leaves. Then two fetches of this origin enter again.
            group.leave(all[0])
            for fetch in all.prefix(2) { group.enter(fetch) }
            #expect(group.rivals(of: other, limitPerHost: 1, limit: 9).isEmpty)
            #expect(group.rivals(of: all[1], limitPerHost: 1, limit: 9).map(\.number) == [all[0].number])
        }
    }

    @Test("With more origins than places, repeated searches for the holder of a place check fetches of every origin")
    func turns() async throws {
        try await TestGateway.with { (gateway) async throws in
            let group = GatewayGroup()
            let all = try (0..<500).map { try fetches(1, to: "http://\($0).example/", of: gateway)[0] }
            for fetch in all { group.enter(fetch) }
            var seen: Set<UInt64> = []
            for _ in 0..<10 {
                let rivals = group.rivals(of: all[0], limitPerHost: 4, limit: 8)
                #expect(rivals.count <= 8 + 64)
                seen.formUnion(rivals.map(\.number))
            }
            #expect(seen.count == all.count - 1)
        }
    }
}
