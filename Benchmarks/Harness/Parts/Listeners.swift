import Foundation

/// Hits beside many listeners of events.
struct Listeners: BenchmarkPart {
    static let name = "listeners"
    static let summary = """
        Hits of 1 KiB while an entry is stored once a second: alone, beside 1,000 listeners of /events that receive \
        its event, and beside these and 100 more listeners that do not read and have full sockets and waiting \
        events. The ratio is to the same server without listeners, in the same round.
        """

    private static let (readers, stalled) = (1000, 100)
    /// The longest tags with which an entry may be stored. They make the event of the entry equally long.
    private static let longTags = (0..<64).map { "long-\($0)-" + String(repeating: "x", count: 100) }

    func run(_ bench: Bench) throws -> [Row] {
        let keys = (0..<(bench.settings.isQuick ? 100 : 1000)).map { "heard\($0)" }
        let larder = try Larder.start(bench, directory: bench.folder("larder"), ["--max-listeners", "2000"])
        let targets = try LarderPath.entries.targets(keys, size: 1 << 10, on: larder, bench)
        if let problem = try bench.fill(larder, targets, size: 1 << 10) { throw BenchmarkError(problem) }
        let list = try bench.list(targets)
        let measure = {
            try Self.stores(on: larder).during { try bench.measure(larder, "walk", [list.path, String(Wrk.threads)]) }
        }
        let (group, alone) = ("hits beside listeners", "Larder alone")
        return try bench.run([
            Contender(group: group, name: alone) { _ in try measure() },
            Contender(group: group, name: "Larder beside \(Self.readers)", baseline: alone) { _ in
                try Self.listening(to: larder, measure)
            },
            Contender(
                group: group, name: "Larder beside \(Self.readers) and \(Self.stalled) stalled", baseline: alone
            ) { _ in
                let stalled = try Self.stall(larder)
                defer { stalled.closeAll() }
                return try Self.listening(to: larder, besides: Self.stalled, measure)
            },
        ])
    }

    /// Runs `work` while listeners read events. Each listener must receive an event and stay connected.
    private static func listening(
        to server: Server, besides others: Int = 0, _ work: () throws -> Sample
    ) throws -> Sample {
        let listeners = try IdleConnections(readers, to: server, target: "/events?key=told")
        defer { listeners.closeAll() }
        let sample = try Drain(listeners).during(work)
        let count = try number("larder_event_listeners", of: server)
        guard count == readers + others else {
            throw BenchmarkError("\(count) of \(readers + others) listeners are connected")
        }
        return sample
    }

    /// Opens listeners that do not read, and stores entries until the server can send them no further events.
    private static func stall(_ server: Server) throws -> IdleConnections {
        let connections = try IdleConnections(stalled, to: server, target: "/events?key=long")
        let connection = try server.connect()
        let tags = longTags.joined(separator: ",")
        for _ in 0..<50 {
            let sent = try number("larder_events_sent_total", of: server)
            for _ in 0..<100 { try store("long", tags, over: connection) }
            // The server sends the events of a burst every 50 ms.
            usleep(200_000)
            if try number("larder_events_sent_total", of: server) == sent { return connections }
        }
        connections.closeAll()
        throw BenchmarkError("the server still sends events to listeners that do not read")
    }

    /// Stores an entry once a second.
    private static func stores(on server: Server) -> Background {
        Background(server) { connection, _ in
            try store("told", "", over: connection)
            usleep(1_000_000)
            return ""
        }
    }

    private static func store(_ key: String, _ tags: String, over connection: HTTPConnection) throws {
        let answer = try connection.send("PUT", "/entries/\(key)/content?ttl=60&tags=\(tags)", body: Data("x".utf8))
        guard answer.status == 200 else { throw BenchmarkError("store: \(answer.status) \(answer.text)") }
    }

    /// The value of a metric without labels.
    private static func number(_ metric: String, of server: Server) throws -> Int {
        let text = try server.connect().get("/metrics").text
        for line in text.split(separator: "\n") where line.hasPrefix(metric + " ") {
            if let number = Int(line.dropFirst(metric.count + 1)) { return number }
        }
        throw BenchmarkError("/metrics has no \(metric)")
    }
}
