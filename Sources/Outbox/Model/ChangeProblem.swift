/// The reason why a change has not been sent, has to wait, or has ended without an effect.
package struct ChangeProblem: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// No connection to the origin, or no complete answer of a read.
        case unreachable
        /// The origin asks for a pause.
        case throttled
        /// The request may have had its effect: the answer was lost, or does not tell.
        case unknownOutcome
        /// Ours and theirs cannot be merged.
        case clash
        /// The resource that the author edited is gone.
        case deleted
        /// The origin refuses a precondition although the version is the one that the precondition names.
        case validatorRefused
        /// The origin refuses a POST, or again and again a blind change, because of the state of the resource.
        case stateRefused
        /// The origin wants another credential.
        case credential
        /// The policy of permitted origins refuses the origin by now.
        case originPolicy
        /// The origin refuses the request.
        case rejected
        /// The answer leads to another origin, to no address, or in a circle.
        case redirected
        /// The origin answers a GET with an error, so the version cannot be compared.
        case unreadable
        /// The resource has been younger than its entity tag can tell at each look so far.
        case unsettled
        /// A policy or a decision took the origin's version.
        case theirsTaken
        /// A decision has made one change of several, and a later one has the edit.
        case squashed
    }

    package var kind: Kind
    /// The status of the origin's answer; `nil` if there was none.
    package var status: Int?

    package init(_ kind: Kind, status: Int? = nil) {
        self.kind = kind
        self.status = status
    }
}
