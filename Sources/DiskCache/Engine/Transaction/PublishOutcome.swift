package enum PublishOutcome: Sendable {
    case stored(Entry)
    /// Only the callers that waited get the entry, because a purge matched it while its body was being received, or the
    /// pinned responses to the URL leave no place (``Entry/variantLimit``) or no room for the fields
    /// (``Entry/variantFieldsLimit``). `body` is `nil` after a refresh.
    case notKept(Entry, body: StoredBody?)

    package var entry: Entry {
        switch self {
        case .stored(let entry), .notKept(let entry, _): entry
        }
    }
}
