import StateDatabase

/// An error of the outbox. No case knows HTTP statuses of the API.
package enum OutboxError: Error, Hashable, Sendable {
    case invalid(DraftFault)
    case changeTooLarge(limit: Int)
    case tooManyChanges(namespace: String, limit: Int)
    case tooManyBytes(namespace: String, limit: Int64)
    case tooManyCredentials(namespace: String, limit: Int)
    /// The resource has too many edits that have not ended.
    case tooManyEdits(url: String, limit: Int)
    /// The caller used the key for another payload. `change` is the id of that change.
    case keyReused(change: Change.ID)
    case noChange(Change.ID)
    case noCredential(String)
    /// The database cannot be opened, or has not kept any part of the transaction.
    case state(StateError)

    init(_ error: any Error) {
        self = error as? OutboxError ?? .state(StateError(error))
    }
}

/// The reason why a draft is not a valid change.
package enum DraftFault: Hashable, Sendable {
    /// The method does not fit the kind of edit.
    case method(String, expected: Set<String>)
    /// The outbox itself writes the field, or the field would carry a secret into the database.
    case reservedField(String)
    /// The name is not a token, or the value has a control character (RFC 9110 §5.5).
    case malformedField(String)
    /// The outbox merges a body with that of the origin, and readers get it as it is (RFC 9110 §8.4).
    case codedBody
    case missingBody
    case unexpectedBody
    /// A DELETE needs the version that its author saw, or `blind`.
    case deletesAbsent
    /// A POST has no base.
    case postWithBase
    case squash(String)
    case revert(String)
}
