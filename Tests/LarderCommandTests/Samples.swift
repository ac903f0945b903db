import Primitives

@testable import LarderClient

extension HeldEntry {
    /// An entry of 1 KiB. `members` replace its members of the same name.
    static func sample(_ members: [JSON.Member] = []) throws -> HeldEntry {
        let standard: [JSON.Member] = [
            .init("key", "k"), .init("kind", "download"), .init("url", "http://h/a"), .init("state", "fresh"),
            .init("contentLength", 1024), .init("expiryDate", "2026-01-31T08:05:09.250Z"),
        ]
        let names = Set(members.map(\.name))
        return try HeldEntry(JSON.object(standard.filter { !names.contains($0.name) } + members))
    }
}

extension WarmRun.End {
    /// The result for one line of a list: an entry with `outcome`, or a failure if `outcome` is unknown. `members` are
    /// members of the entry.
    static func sample(_ outcome: String, _ members: [JSON.Member] = []) throws -> WarmRun.End {
        let item = WarmList.Item(line: 1, url: "http://h/a", ttl: nil)
        guard let outcome = Outcome(rawValue: outcome) else {
            let problem = ServerProblem(status: 502, fields: [:], body: [])
            return WarmRun.End(item: item, result: .failure(problem), json: .null)
        }
        let kept = DownloadedEntry(outcome: outcome, entry: try .sample(members))
        return WarmRun.End(item: item, result: .success(kept), json: .null)
    }
}

extension OutboxChange {
    /// Change 7 of a resource. `members` replace its members of the same name.
    static func sample(_ state: JSON, _ members: [JSON.Member] = []) throws -> OutboxChange {
        let standard: [JSON.Member] = [
            .init("id", 7), .init("url", "http://h/a"), .init("method", "PUT"), .init("lane", "http://h/a"),
            .init("state", state), .init("attempts", 1), .init("createdDate", "2026-01-31T08:05:09.250Z"),
        ]
        let names = Set(members.map(\.name))
        return try OutboxChange(JSON.object(standard.filter { !names.contains($0.name) } + members))
    }
}

extension HeldSubscription {
    /// A subscription to a feed that holds 3 of 4 items. `members` replace its members of the same name.
    static func sample(_ state: JSON, _ members: [JSON.Member] = []) throws -> HeldSubscription {
        let standard: [JSON.Member] = [
            .init("name", "news"), .init("state", state), .init("refreshing", false), .init("generation", 2),
            .init("wanted", 4), .init("held", 3), .init("missingCount", 1),
            .init("oldest", "2026-01-31T08:05:09.250Z"), .init("nextRefresh", "2026-01-31T09:05:10.000Z"),
            .init("sourceProblem", .null), .init("definition", ["source": ["feed": "http://h/feed"]]),
        ]
        let names = Set(members.map(\.name))
        return try HeldSubscription(JSON.object(standard.filter { !names.contains($0.name) } + members))
    }
}
