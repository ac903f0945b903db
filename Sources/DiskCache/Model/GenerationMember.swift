import Primitives

/// A member of the next generation; see ``GenerationStage``.
package struct GenerationMember: Sendable {
    package enum Body: Sendable {
        /// The entry of the key stays. With metadata, the origin has confirmed its body (RFC 9111 §4.3.4).
        case kept(EntryMetadata?)
        /// A body that the stage has stored. It replaces the entry of the key.
        case staged(digest: [UInt8], EntryMetadata)
    }

    /// Of the form ``CacheKey/Form/url``.
    package var key: CacheKey
    /// Canonical.
    package var url: String
    package var body: Body
    /// The version of the entry of the key when its body was confirmed or downloaded; `nil`: there was no entry.
    package var replacing: Int64?

    package init(_ key: CacheKey, url: String, _ body: Body, replacing: Int64?) {
        self.key = key
        self.url = url
        self.body = body
        self.replacing = replacing
    }
}

/// The result of a switch to the next generation.
package struct GenerationSwitch: Sendable, Hashable {
    /// The reason for which a member is not in the generation.
    package enum Loss: String, Sendable, Hashable {
        /// A caller removed the entry after the body was downloaded or confirmed, or the entry was damaged.
        case removed
        /// The key has an entry of another kind or URL.
        case occupied
        /// The staged body is damaged. An old copy stays in the generation.
        case damaged
    }

    /// Grows by one with each switch; the first generation of a holder has the number 1.
    package let generation: Int64
    /// The number of entries in the generation.
    package let held: Int
    /// By their keys.
    package let lost: [String: Loss]
}

/// The entries that a holder holds.
package struct HeldGeneration: Sendable, Hashable {
    package let number: Int64
    package let count: Int
}
