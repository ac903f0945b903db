import Primitives

/// The result of a switch to the next generation.
package struct GenerationSwitch: Sendable, Hashable {
    /// The reason for which a member is not in the generation, or is there with an old copy.
    package enum Loss: String, Error, Hashable {
        /// A caller removed the key or URL after the member's fetch had begun.
        case removed
        /// The key has no entry, although no caller has removed it since the member's fetch began: the entry was
        /// evicted, had expired or was damaged. Another fetch brings the member back.
        case evicted
        /// The key has an entry of another kind or URL.
        case occupied
        /// The staged body is damaged. An old copy stays in the generation.
        case damaged
        /// The entry would have more tags than ``Entry/tagLimit``. An old copy stays in the generation.
        case invalid

        /// Whether the generation keeps the copy of the one before, if there is a copy.
        package var keepsOldCopy: Bool { self == .damaged || self == .invalid }
    }

    /// Grows by one with each switch; the first generation of a holder has the number 1.
    package let generation: Int64
    /// The number of entries in the generation.
    package let held: Int
    /// The members that are not in the generation, by their keys.
    package let lost: [String: Loss]
    /// The members that are in the generation with an old copy, by their keys.
    package var outdated: [String: Loss] = [:]
}

/// The entries that a holder holds.
package struct HeldGeneration: Sendable, Hashable {
    package let number: Int64
    package let count: Int
}

/// The generation of a holder that goes on, and its entries.
package struct ResumedGeneration: Sendable, Hashable {
    /// 0 before the first generation.
    package let number: Int64
    /// The dates at which origins sent or confirmed the entries, by their keys; for an entry from no origin, the date
    /// of its creation.
    package let dates: [String: Timestamp]
}
