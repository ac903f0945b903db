import Outbox

/// The result of a look-up of a stored credential.
enum CredentialLookup: Sendable {
    case found(Credential)
    case missing
    /// The database has failed; in words for the log.
    case unreadable(reason: String)
}
