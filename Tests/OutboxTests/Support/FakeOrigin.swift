import Primitives

@testable import Outbox

/// An origin with versions and a log of effects.
final class FakeOrigin {
    struct Resource {
        var body: [UInt8]
        var version: Int
        var modified: Timestamp
    }

    struct Effect {
        /// `nil`: a rival.
        var change: Change.ID?
        var url: String
        var before: [UInt8]?
        var after: [UInt8]
    }

    /// Whether the tag is the modification time in whole seconds, as file servers make it.
    let hasSecondTags: Bool
    var resources: [String: Resource] = [:]
    var log: [Effect] = []
    /// The POST changes with an effect, once for each effect.
    var posts: [Change.ID] = []
    private var keys: Set<String> = []

    init(hasSecondTags: Bool) { self.hasSecondTags = hasSecondTags }

    func tag(of url: String) -> String? {
        resources[url].map { hasSecondTags ? "\"\($0.modified.milliseconds / 1000)\"" : "\"v\($0.version)\"" }
    }

    func write(_ url: String, _ body: [UInt8], by change: Change.ID?, at now: Timestamp) {
        let before = resources[url]
        log.append(Effect(change: change, url: url, before: before?.body, after: body))
        resources[url] = Resource(body: body, version: (before?.version ?? 0) + 1, modified: now)
    }

    func get(_ url: String, at now: Timestamp) -> ReadAnswer {
        let resource = resources[url]
        let second = { (date: Timestamp) in Timestamp(seconds: date.milliseconds / 1000) }
        let body = resource?.body ?? []
        let mark = ReadMark(
            etag: tag(of: url), lastModified: resource.map { second($0.modified) }, date: second(now),
            digest: BodyDigest(of: body), received: now)
        return ReadAnswer(
            status: resource == nil ? 404 : 200, body: body, mark: mark, isStored: resource != nil)
    }

    /// Applies a request, and answers it.
    func take(_ order: SendOrder, at now: Timestamp) -> SendAnswer {
        if order.method == "POST" {
            if let key = order.idempotencyKey, !keys.insert(key).inserted { return SendAnswer(status: 200) }
            posts.append(order.flight.change)
            return SendAnswer(status: 201)
        }
        switch order.guarding {
        case .ifMatch(let validator): if tag(of: order.url) != validator.etag { return SendAnswer(status: 412) }
        case .ifNoneMatchAny: if resources[order.url] != nil { return SendAnswer(status: 412) }
        case .unguarded: break
        }
        write(order.url, order.content.bytes ?? [], by: order.flight.change, at: now)
        return SendAnswer(status: 204, etag: tag(of: order.url))
    }
}
