import Larder
import Primitives

/// `/explain`: the state of a URL in the cache.
struct ExplainRoutes: Sendable {
    private static let responseLimit = 100

    private static let changeLimit = 100

    let outbox: OutboxService
    let clock: any WallClock

    var routes: [Route] {
        [Route("GET", "/explain", .read, .calling("explain", explain))]
    }

    private func explain(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let query = try head.query(["url", "params"])
        guard let (url, params) = try query.canonicalURL() else { throw .invalid("url is missing", pointer: "/url") }
        let namespace = head.namespace
        // `/fetch` stores responses under the URL as it was sent, without params.
        let sent = params == nil ? query["url"] : url.string
        let exact = sent.flatMap { try? ExactURL($0) }
        let states = Set(ChangeState.allCases.filter { !$0.isEnded })
        outbox.list(
            in: namespace.name, states: states, key: CacheKey.url(canonical: url.string).text, after: nil,
            limit: Self.changeLimit
        ) { result in
            // An outbox that cannot be read does not keep the cache from answering.
            let changes = try? result.get().changes
            do throws(Problem) {
                try explain(url, exact, changes: changes, in: namespace, call)
            } catch {
                call.respond(error)
            }
        }
    }

    private func explain(
        _ url: CanonicalURL, _ exact: ExactURL?, changes: [ChangeSummary]?, in namespace: Namespace, _ call: Call
    ) throws(Problem) {
        try call.respondInTurn { () throws(Problem) in
            let forecast = try Problem.mapping(try namespace.downloads.forecast(of: url))
            // A filter by URL would also find the responses that were stored for another spelling of the URL.
            let responses = try exact.map { (exact) throws(Problem) in
                try Problem.mapping(try namespace.entries.responses(to: exact, limit: Self.responseLimit))
            }
            let holders = try Problem.mapping(try namespace.entries.holders(of: forecast.key))
            return .json(json(forecast, of: url, responses: responses ?? [], changes, holders, in: namespace))
        }
    }

    private func json(
        _ forecast: DownloadForecast, of url: CanonicalURL, responses: [Entry], _ changes: [ChangeSummary]?,
        _ holders: [String], in namespace: Namespace
    ) -> JSON {
        let now = clock.now()
        return .object([
            .init("url", .string(url.string)),
            .init("key", .string(forecast.key.text)),
            .init("namespace", .string(namespace.name)),
            .init("layout", .string(namespace.layout.rawValue)),
            .init("localPath", .string(orNull: forecast.localPath)),
            .init("hit", .bool(forecast.reason == .fresh)),
            .init("reason", .string(forecast.reason.rawValue)),
            .init("detail", .string(forecast.detail)),
            .init("pauseEndDate", .date(forecast.pauseEnd)),
            .init("entry", forecast.entry?.json(at: now) ?? .null),
            .init("download", forecast.download?.json(nil, at: now) ?? .null),
            .init("responses", .array(responses.map { $0.json(at: now) })),
            .init("changes", changes.map { .array($0.map(\.explanation)) } ?? .null),
            .init("subscriptions", .array(holders.map(JSON.string))),
        ])
    }
}

extension ChangeSummary {
    /// The members that a caller without the scope `send` may see.
    fileprivate var explanation: JSON {
        ["id": .number(id), "method": .string(method), "state": .string(state.rawValue), "createdDate": .date(created)]
    }
}

extension DownloadForecast {
    var detail: String {
        switch reason {
        case .fresh: "the entry is fresh until \(entry?.expiryDate.rfc3339 ?? "")"
        case .downloading: "a download of the URL is running, and a request would join it"
        case .stale where entry?.held == true:
            "the entry expired at \(entry?.expiryDate.rfc3339 ?? ""), but a subscription holds it, so a request gets it"
        case .stale:
            "the entry expired at \(entry?.expiryDate.rfc3339 ?? ""); "
                + (entry?.hasValidator == true
                    ? "a request would revalidate it with the origin" : "its body would be downloaded again")
                + pauseDetail
        case .absent: "the cache has no entry for this URL; a request would download it" + pauseDetail
        case .refused: refusal.map { Problem($0).detail } ?? ""
        }
    }

    private var pauseDetail: String {
        pauseEnd.map { ", but the host asked for a pause until \($0.rfc3339) and gets no request before" } ?? ""
    }
}
