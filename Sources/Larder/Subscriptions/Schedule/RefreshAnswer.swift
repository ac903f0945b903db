import DiskCache
import Primitives

/// An item that a source wants to be held.
struct WantedItem: Hashable, Sendable {
    /// Canonical.
    let url: String
    let key: CacheKey
    /// With the port, as requests to it are paced.
    let host: String
}

/// The answer of a source.
enum SourceAnswer: Sendable {
    /// The items in their order. `least`: see ``RefreshInterval/next(after:isChanged:least:)``.
    case items([WantedItem], least: Duration)
    /// The source confirmed its items.
    case unchanged(least: Duration)
    /// No usable list: no answer, an empty one, or one that is no list.
    case failed(reason: String, pause: Duration?)
}

/// The answer for a member.
enum MemberAnswer: Sendable {
    /// The origin confirmed the body of the held copy.
    case confirmed(EntryMetadata, least: Duration)
    /// The stage has stored a body.
    case staged(digest: [UInt8], EntryMetadata, isChanged: Bool, least: Duration)
    /// A failure that will last, such as a 404: the member leaves the generation.
    case gone(reason: String, forever: Bool)
    /// A refusal that a day may change, such as 401 and 403. The member keeps its copy.
    case refused(reason: String)
    /// A failure that may pass, such as a 503 or a reset connection. `pause`: as the origin asks.
    case failed(reason: String, pause: Duration?)
    /// The cache has no room for both generations.
    case noRoom
}

/// The reason for which a member has no copy, or an old one.
struct MemberProblem: Hashable, Sendable {
    var reason: String
    /// The first failure in a row.
    var since: Timestamp
    /// Whether the member left the generation because of it.
    var isLasting = false
}
