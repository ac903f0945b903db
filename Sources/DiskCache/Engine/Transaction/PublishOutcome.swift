package enum PublishOutcome: Sendable {
    /// The entry is kept, durably.
    case stored(Entry)
    /// The entry is not kept. Only the callers that waited for this publish get the entry. The possible reasons:
    ///
    /// - A purge matched the entry while its body was being received.
    /// - The URL has ``Entry/variantLimit`` responses, and all are pinned.
    /// - The fields of the URL's pinned responses leave no room for the fields of this response
    ///   (``Entry/variantFieldsLimit``).
    ///
    /// `body` is `nil` when the publish was a refresh.
    case notKept(Entry, body: StoredBody?)

    package var entry: Entry {
        switch self {
        case .stored(let entry), .notKept(let entry, _): entry
        }
    }
}
