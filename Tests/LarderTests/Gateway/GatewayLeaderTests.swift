import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The leader of a fetch")
struct GatewayLeaderTests {
    @Test("A leader finds an answer that was stored after its look-up, and does not ask the origin again")
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
