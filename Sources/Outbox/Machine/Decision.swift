/// A decision that is being applied: a caller's, that of the date of expiry, that of a stored remote version, or that
/// of an answer.
struct Decision: Sendable {
    enum Kind: Sendable {
        case cancel, retry, expire, squash
        case resolve(Resolution)
        /// The remote version shows the effect of the confirmed change.
        case finish(Lane.Shown)
        /// The store gets the outcome of a request that it could not keep before.
        case keep(UnkeptOutcome)

        /// Whether a caller waits for the outcome.
        var isOfCaller: Bool {
            switch self {
            case .cancel, .retry, .squash, .resolve: true
            case .expire, .finish, .keep: false
            }
        }
    }

    let kind: Kind
    let ids: [Change.ID]
    /// The rows that have been loaded, and later the rows that are being written.
    var rows: [Change] = []
    /// The number of the merge that the decision waits for; `nil`: it waits for none.
    var merge: UInt64?
    /// The changes that become one, when their rows have been loaded.
    var squash: Squash?
    var isCommitting = false
}
