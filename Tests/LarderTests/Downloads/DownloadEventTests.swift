import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The events of downloads")
struct DownloadEventTests {
    @Test("An ended download reports no progress, even while another download of its key runs")
    func progressAfterTheEnd() async throws {
        let over = Gate("the end")
        let origin = try ScriptedOrigin { _, connection in
            try over.waitBlocking(limit: .seconds(60))
            try connection.respond(body: "late")
        }
        defer { origin.stop() }
        defer { over.open() }
        let (hub, sink) = (EventHub(), TestSink())
        try hub.listen(sink, from: "192.0.2.1", to: EventFilter())
        try await DownloadManager.withOne(hub: hub) { downloads in
            let request = DownloadRequest(url: try CanonicalURL(origin.url("/a")))
            let ended = Gate("the answer")
            downloads.download(request) { _ in ended.open() }
            try await sink.wait(for: 1)
            // Reports of progress come from their own thread, which may be late.
            let former = DownloadPolicy.makeFetch(request, key: request.key, held: nil, manager: downloads) { rules in
                FetchMachine(rules, leader: nil)
            }
            downloads.tellProgress(of: former)
            let running = try #require(downloads.state.withLock { $0.running[request.key.text]?.fetch })
            downloads.tellProgress(of: running)
            try await sink.wait(for: 2)
            over.open()
            try await ended.wait()
            downloads.tellProgress(of: running)
            hub.publish(TestEvents.failures(0..<1))
            try await poll("what was told last") { sink.words.last == "0" }
            let kinds = sink.events.map(\.event.kind)
            #expect(kinds == [.downloadStarted, .downloadProgress, .downloadSucceeded, .downloadFailed])
        }
    }
}
