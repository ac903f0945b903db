import Primitives

/// A request that the machine has ordered. An answer to a flight that the machine has given up has no effect.
package struct Flight: Hashable, Sendable {
    package let change: Change.ID
    package let number: UInt64
}

/// The result of a three-way merge.
package enum MergeResult: Hashable, Sendable {
    /// The origin's version already has every edit of ours.
    case equalsTheirs
    /// The origin's version is the base in another form of the same value, so no rival has edited it.
    case theirsIsBase
    /// - Parameters:
    ///   - body: theirs with the edits of ours.
    ///   - patch: the text that turns theirs into `body`, in the form of the change's patch. `nil` is allowed only for
    ///     a change that is not sent as PATCH; otherwise it counts as a clash.
    case clean(body: [UInt8], patch: [UInt8]?)
    case clash
    /// The result of a merge with a ``JoinOrder`` would not tell an edit, because a value is as it was at first.
    case takenBack
}

/// The knowledge about a request that got no answer.
package enum SendFailure: Hashable, Sendable {
    /// No connection: the address, TCP or TLS failed, so the origin has not seen the request.
    case notSent
    case unknown
}

/// A caller's choice for a change that is held.
package enum Resolution: Hashable, Sendable {
    /// The change is sent over the version that the caller has seen in the conflict. Of JSON, only the values win that
    /// both sides have changed, and the other edits of both are kept. Another body replaces that version, as does a
    /// change with ``ConflictPolicy/hold`` if the body of the version was not kept.
    case ours
    /// The change ends as `cancelled`.
    case theirs
    /// The body replaces ours, over the version that the caller has seen in the conflict.
    case body([UInt8])
}

/// An input of ``OutboxMachine``.
package enum OutboxEvent: Hashable, Sendable {
    /// The store has committed a new change.
    case accepted(ChangeSummary)
    /// The process has started. The changes are all that have not ended, in any order; the pauses are those of
    /// ``OutboxAction/notePause(_:)``, in any order, of which the ones that have ended have no effect.
    case restarted([ChangeSummary], pauses: [HostPause])
    /// The date of ``OutboxAction/wake(_:)`` has come. An early event does no harm.
    case timer
    /// The row that ``OutboxAction/load(_:)`` asked for; `nil` when there is no such row.
    case loaded(Change.ID, Change?)
    case loadFailed(Change.ID)
    /// The changes of one ``OutboxAction/commit(_:)`` are durable.
    case committed([Change.ID])
    /// None of the changes of one ``OutboxAction/commit(_:)`` was kept.
    case commitFailed([Change.ID])
    case readAnswered(Flight, ReadAnswer)
    case readFailed(Flight)
    case merged(Flight, MergeResult)
    case sendAnswered(Flight, SendAnswer)
    case sendFailed(Flight, SendFailure)
    /// The policy of permitted origins, or of the credential, refused the request before it was sent.
    case originRefused(Flight)
    /// The credential of the change is missing, or is not for the origin, so no request was made.
    case credentialMissing(Flight)
    /// The credential of the change cannot be read now, so no request was made.
    case credentialUnreadable(Flight)
    /// The namespace of the change does not exist now, so no request was made.
    case namespaceMissing(Flight)
    /// A namespace with this name exists from now on.
    case namespaceFound(String)
    /// No reader finds the version of ``OutboxAction/removeVersion(_:)`` any more.
    case versionRemoved(Flight)
    /// The cache has failed to remove the version of ``OutboxAction/removeVersion(_:)``, which readers may find.
    case versionNotRemoved(Flight)
    /// The cache has stored the answer to any GET of the resource as the remote version.
    ///
    /// `ticket` is the value of ``OutboxMachine/ticket`` when the GET began.
    case stored(namespace: String, key: String, ticket: UInt64, etag: String?, digest: BodyDigest)
    case credentialChanged(namespace: String, name: String)
    case cancel(Change.ID)
    case retry(Change.ID)
    case resolve(Change.ID, Resolution)
    /// The changes become one (``Squash``).
    case squash([Change.ID])
    /// The store has removed all changes of the namespace.
    case discarded(namespace: String)
}
