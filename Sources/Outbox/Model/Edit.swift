/// The form in which the author described a change.
package enum Edit: Hashable, Sendable {
    /// The whole body.
    case replace
    /// The text of a JSON Merge Patch (RFC 7396).
    case mergePatch([UInt8])
    /// The text of a JSON Patch (RFC 6902).
    case jsonPatch([UInt8])
    case delete
    /// A request with another effect than a new body of its URL.
    case post

    package var patch: [UInt8]? {
        switch self {
        case .mergePatch(let text), .jsonPatch(let text): text
        case .replace, .delete, .post: nil
        }
    }
}

/// The reaction to a resource that changed after the author saw it.
package enum ConflictPolicy: String, Hashable, Sendable, CaseIterable {
    /// The change waits for a decision, even if both edits could be merged.
    case hold
    /// Both edits are merged. The change waits for a decision if they clash.
    case merge
    /// As ``merge``, but a clash cancels the change.
    case theirs
    /// As ``merge``, but the change wins where both edits clash. A body that is no JSON replaces the origin's version.
    case ours
}

/// The reaction to an unknown outcome that no GET can reveal, such as a POST with a lost answer.
package enum UncertaintyPolicy: String, Hashable, Sendable, CaseIterable {
    /// The change waits for a decision.
    case hold
    /// The change is sent again, although its effect may then happen twice.
    case retry
}
