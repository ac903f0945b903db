import Primitives

/// A member of the next generation. While a copy of it exists, purges of its key or URL, and changes of its entry's
/// metadata, count as later than its fetch; see ``GenerationStage/member(_:url:tags:)``.
package struct GenerationMember: Sendable {
    package enum Body: Sendable {
        /// The entry of the key stays. With metadata, the origin has confirmed its body (RFC 9111 §4.3.4).
        case kept(EntryMetadata?)
        /// A body that the stage has stored. It replaces the entry of the key.
        case staged(digest: [UInt8], EntryMetadata)
    }

    package let key: CacheKey
    package let url: String
    package var body = Body.kept(nil)
    /// The version of the entry of the key when its body was confirmed or downloaded; `nil`: there was no entry.
    package var replacing: Int64?
    let pending: PendingMember

    /// Of the entry that the generation holds.
    var kind: Entry.Kind { key.form == .page ? .page : .download }

    /// The tags of the metadata are added to those of the entry, as a publish adds those of a reservation.
    func addTags() {
        switch body {
        case .kept(nil): break
        case .kept(let metadata?), .staged(_, let metadata): pending.addTags(metadata.tags ?? [])
        }
    }
}
