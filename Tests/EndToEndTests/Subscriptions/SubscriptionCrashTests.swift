import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

/// Large sets on many origins, while SIGKILL ends the server in the middle of refreshes and switches.
@Suite("Subscriptions after kill -9", .serialized)
struct SubscriptionCrashTests {
    private static let gap: Duration = .milliseconds(20)
    /// The longest wait for a round of requests on a busy machine.
    private static let limit: Duration = .seconds(120)

    private static func definition(_ web: VersionedWeb, gap: Duration = gap) -> JSON {
        [
            "source": ["urls": .array(web.urls.map(JSON.string))], "interval": "1h", "minGap": .seconds(gap),
            "ttl": "1m",
        ]
    }

    private static func start(_ directory: TemporaryDirectory) async throws -> LarderProcess {
        try await LarderProcess(
            directory: directory.path("cache"),
            arguments: ["--state-directory", directory.path("state"), "--layout", "hashed"])
    }

    private static func wait(for version: Int, _ reader: GenerationReader) async throws {
        try await poll("readers seeing version \(version)", limit: limit, every: .milliseconds(50)) {
            if let problem = reader.problems.elements.first { throw LarderProcess.Failure(description: problem) }
            return reader.hasRead(version)
        }
    }

    /// Waits until no round runs and none follows. The origins must not change their version in the middle of a round,
    /// because no cache could then tell the versions apart. Another round begins right behind the report of the last
    /// one's end, so two reports must agree.
    private static func waitForRest(_ larder: LarderProcess) async throws {
        var rests = 0
        try await larder.wait(for: "/subscriptions/set") { report in
            rests = report["refreshing"] == false ? rests + 1 : 0
            return rests >= 2
        }
    }

    @Test("6,000 URLs on 30 origins after a day's downtime are asked for with the gap, once, and switch together")
    func downtime() async throws {
        let web = try VersionedWeb(origins: 30, urlsOfEach: 200)
        let directory = try TemporaryDirectory()
        let clock = ManualClock(SystemClock().now() - .seconds(86_400))
        try await TestServer.with(clock: clock, directory: directory) { (server) async throws in
            try await server.subscribe("set", Self.definition(web))
            // The clock of yesterday runs as fast as the origins answer.
            try await poll("the first generation", limit: Self.limit, every: .milliseconds(2)) {
                server.turn(Self.gap)
                return web.requests.value >= 6000
            }
            try await server.waitForGeneration(1, of: "set")
            #expect(try await server.get("/subscriptions/set").member("held") == 6000)
        }
        web.begin(2)
        let reader = GenerationReader(web)
        var larder = try await Self.start(directory)
        reader.start(larder)
        try await Self.wait(for: 2, reader)
        try await Self.waitForRest(larder)
        #expect(web.counts.values.allSatisfy { $0 == 1 } && web.counts.count == 6000)
        let report = try await larder.wait(for: "/subscriptions/set") { $0["refreshing"] == false }
        #expect(report["state"] == "complete" && report["generation"] == 2 && report["held"] == 6000)
        #expect(web.largestBurst(within: .seconds(1)) <= 60, "a gap of 20 ms permits 50 requests a second")

        // A kill in the middle of a round, which begins again, and a kill at its end.
        web.begin(3)
        #expect(try await larder.call("POST", "/subscriptions/set/refresh").status == 202)
        try await web.requests.wait(for: web.requests.value + 3000)
        try await larder.crash()
        larder = try await Self.start(directory)
        reader.start(larder)
        #expect(try await larder.call("POST", "/subscriptions/set/refresh").status == 202)
        try await Self.wait(for: 3, reader)
        #expect(web.largestBurst(within: .seconds(1)) <= 60)
        #expect(try await larder.stop() == .status(0))
        #expect(reader.problems.elements.isEmpty)
    }

    @Test("A reader sees one whole generation at every instant, also through kills at random moments of switches")
    func switches() async throws {
        let web = try VersionedWeb(origins: 10, urlsOfEach: 60)
        let directory = try TemporaryDirectory()
        let reader = GenerationReader(web)
        var random = SplitMix64(seed: 20)
        var larder = try await Self.start(directory)
        #expect(
            try await larder.call("PUT", "/subscriptions/set", Self.definition(web, gap: .zero)).status == 201)
        try await larder.wait(for: "/subscriptions/set") { $0["held"] == 600 && $0["refreshing"] == false }
        reader.start(larder)
        try await Self.wait(for: 1, reader)
        try await Self.waitForRest(larder)
        var interrupted = 0
        for version in 2...13 {
            let asked = web.requests.value
            web.begin(version)
            #expect(try await larder.call("POST", "/subscriptions/set/refresh").status == 202)
            try await web.requests.wait(for: asked + 600)
            // The switch follows the last answer. The pause chooses the moment of the kill.
            try await Task.sleep(for: .milliseconds(Int64(random.next() % 120)))
            try await larder.crash()
            larder = try await Self.start(directory)
            // Before the next round can end, all readers find the old generation or the new one.
            let found = try await reader.wholeGeneration(larder)
            #expect(found == version - 1 || found == version, "\(found.map(String.init) ?? "several") in \(version)")
            if found == version - 1 { interrupted += 1 }
            reader.start(larder)
            if found != version { #expect(try await larder.call("POST", "/subscriptions/set/refresh").status == 202) }
            try await Self.wait(for: version, reader)
            try await Self.waitForRest(larder)
        }
        let report = try await larder.call("GET", "/subscriptions/set").json
        #expect(report["held"] == 600 && report["state"] == "complete")
        #expect(try await larder.stop() == .status(0))
        #expect(reader.problems.elements.isEmpty, "\(reader.problems.elements.prefix(3))")
        #expect(try await LarderProcess.verify(directory.path("cache")).exit == .status(0))
        print("kills before the switch: \(interrupted) of 12")
    }
}
