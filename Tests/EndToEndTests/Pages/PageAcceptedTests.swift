import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("Captures that end while they are accepted")
struct PageAcceptedTests {
    @Test("A capture that ends while the server looks for its page is answered with 202, and not with 404")
    func accepted() async throws {
        try await TestServer.with { (server) async throws in
            let body = { (number: Int) -> [UInt8] in
                JSON.object([.init("url", .string("http://127.0.0.1:1/\(number)")), .init("html", "<p>x")]).utf8
            }
            for number in 0..<300 {
                let reply = try await server.client.request(
                    "POST", "/pages", fields: [.contentType: "application/json"], body: body(number))
                #expect(reply.status == 202, "\(number): \(reply.text)")
            }
        }
    }
}
