import HTTPTypes
import Primitives
import TestSupport

/// Many origins, each on a port of its own, with bodies that name their version: `2 /17`. All change their version at
/// one instant, and log when they were asked.
final class VersionedWeb: Sendable {
    private final class State: Sendable {
        struct Value {
            var version = 1
            /// The requests for each URL since the version began.
            var counts: [String: Int] = [:]
            /// The dates of the requests to each origin since the version began.
            var dates: [Int: [ContinuousClock.Instant]] = [:]
        }

        let value = Locked(Value())
    }

    let origins: [ScriptedOrigin]
    let urls: [String]
    let requests = Counter("requests at the origins")
    private let state = State()

    init(origins count: Int, urlsOfEach: Int) throws {
        let (state, requests) = (state, requests)
        let origins = try (0..<count).map { number in
            try ScriptedOrigin { request, connection in
                let now = ContinuousClock.now
                let version = state.value.withLock { state in
                    state.counts["\(number)\(request.target)", default: 0] += 1
                    state.dates[number, default: []].append(now)
                    return state.version
                }
                try connection.respond(fields: [.contentType: "text/plain"], body: "\(version) \(request.target)")
                requests.add()
            }
        }
        self.origins = origins
        urls = (0..<urlsOfEach).flatMap { number in origins.map { $0.url("/\(number)") } }
    }

    /// All later answers have this version.
    func begin(_ version: Int) {
        state.value.withLock { $0 = State.Value(version: version) }
    }

    var counts: [String: Int] { state.value.withLock { $0.counts } }

    /// The most requests that one origin got in any time of this length, since the version began.
    func largestBurst(within time: Duration) -> Int {
        state.value.withLock { $0.dates }.values.map { dates in
            let dates = dates.sorted()
            var (most, first) = (0, 0)
            for (index, date) in dates.enumerated() {
                while date - dates[first] > time { first += 1 }
                most = max(most, index - first + 1)
            }
            return most
        }.max() ?? 0
    }
}
