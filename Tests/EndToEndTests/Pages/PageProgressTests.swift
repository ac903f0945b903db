import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("Progress of captures")
struct PageProgressTests {
    @Test("A long capture tells its progress at once, then at most four times a second, and with the latest counts")
    func progress() async throws {
        let gate = Gate("the last image")
        let count = 200
        let origin = try ScriptedOrigin { request, connection in
            if request.target == "/\(count).png" { try gate.waitBlocking() }
            let isPage = request.target == "/"
            let images = (1...count).map { "<img src=\($0).png>" }.joined()
            try connection.respond(
                fields: [.contentType: isPage ? "text/html" : "image/png"], body: isPage ? images : request.target)
        }
        defer {
            gate.open()
            origin.stop()
        }
        try await TestServer.with { (server) async throws in
            let events = try await server.listen("type=page")
            let start = ContinuousClock.now
            async let page = server.capture(["url": .string(origin.url("/"))])
            // All but the held image, as JSON numbers.
            let most = JSON.number(count)
            try await events.wait("the progress") { $0.type == "page.progress" && $0.data["done"] == most }
            gate.open()
            #expect(try await page.status == 200)
            try await events.wait("the end") { $0.type == "page.finished" }
            let seconds = (ContinuousClock.now - start) / Duration.seconds(1)
            let told = events.events
            #expect(told.first?.type == "page.started" && told.last?.type == "page.finished")
            let reports = told.filter { $0.type == "page.progress" }
            #expect(reports.count == told.count - 2 && reports.count >= 1)
            #expect(Double(reports.count) <= 1 + 4 * seconds, "\(seconds) s")
            let counts = reports.compactMap { $0.data["done"]?.doubleValue }
            #expect(counts == counts.sorted() && counts.count == reports.count)
            #expect(reports.last?.data["found"] == .number(count + 1))
        }
    }
}
