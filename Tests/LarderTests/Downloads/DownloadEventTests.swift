import Foundation
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The events of downloads")
struct DownloadEventTests {
    @Test("A download that has ended reports no progress, even while another download of its key runs")
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
            // A separate thread reports progress, possibly after the end of the download.
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
            try await poll("the last event") { sink.words.last == "0" }
            let kinds = sink.events.map(\.event.kind)
            #expect(kinds == [.downloadStarted, .downloadProgress, .downloadSucceeded, .downloadFailed])
        }
    }
}

@Suite("The pace of progress reports")
struct ReportPaceTests {
    @Test("Progress is reported immediately, then at most four times a second, and a last report covers the last piece")
    func pace() {
        var pace = ReportPace()
        let start = ContinuousClock.now
        func delay(after milliseconds: Int) -> Duration? { pace.turn(at: start + .milliseconds(milliseconds)) }
        #expect(delay(after: 0) == .zero)
        #expect(delay(after: 50) == .milliseconds(200))
        // The report that is due at 250 ms includes the pieces that arrive before it.
        #expect(delay(after: 100) == nil)
        #expect(delay(after: 249) == nil)
        pace.keepPromise(at: start + .milliseconds(250))
        #expect(delay(after: 300) == .milliseconds(200))
        pace.keepPromise(at: start + .milliseconds(500))
        #expect(delay(after: 1000) == .zero)
    }
}

@Suite("Many callers of a download")
struct DownloadCrowdTests {
    /// The processor time of joining and of leaving a download, in nanoseconds for each caller.
    private struct Cost {
        var coming: Int
        var leaving: Int
    }

    @Test(
        "Joining or leaving a download costs the same for any number of callers; callers that stay get the answer",
        arguments: [false, true])
    func comingAndLeaving(isPurged: Bool) async throws {
        let over = Gate("the end")
        let origin = try ScriptedOrigin { _, connection in
            try over.waitBlocking(limit: .seconds(60))
            try connection.respond(body: "late")
        }
        defer { origin.stop() }
        defer { over.open() }
        try await DownloadManager.withOne { downloads in
            let (answers, unwanted) = (Counter(), Counter())
            /// Lets `count` callers come to a download, and all but ten of them leave. If `isPurged`, the callers wait
            /// for the next download of the key.
            func crowd(of count: Int, _ path: String) async throws -> Cost {
                let request = DownloadRequest(url: try CanonicalURL(origin.url(path)))
                downloads.download(request) { _ in }
                try await poll("the download") { downloads.status(of: request.key.text) != nil }
                if isPurged { try await downloads.tools.cache.remove(request.key.text) }
                let begin = processorTime()
                var places: [DownloadManager.Place?] = []
                for number in 0..<count {
                    let counter = number < count - 10 ? unwanted : answers
                    places.append(downloads.download(request) { if case .success = $0 { counter.increment() } })
                }
                let middle = processorTime()
                for place in places.dropLast(10) { downloads.leave(try #require(place)) }
                let cost = Cost(coming: (middle - begin) / count, leaving: (processorTime() - middle) / (count - 10))
                #expect(downloads.laterCount(of: request.key.text) == (isPurged ? 10 : 0))
                return cost
            }
            var few: [Cost] = []
            for number in 0..<5 { few.append(try await crowd(of: 500, "/few/\(number)")) }
            let many = try await crowd(of: 16_000, "/many")
            #expect(many.coming < 4 * few.map(\.coming).min()!, "\(many) of 16,000, \(few) of 500")
            #expect(many.leaving < 4 * few.map(\.leaving).min()!, "\(many) of 16,000, \(few) of 500")
            over.open()
            try await poll("the remaining callers to be answered") { answers.value == 60 }
            #expect(unwanted.value == 0)
        }
    }
}
