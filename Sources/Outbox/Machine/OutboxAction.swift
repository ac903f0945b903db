import Primitives

/// The precondition of a request, which keeps its effect from happening twice.
package enum WriteGuard: Hashable, Sendable {
    /// `If-Match` (RFC 9110 §13.1.1)
    case ifMatch(Validator)
    /// `If-None-Match: *` (RFC 9110 §13.1.2)
    case ifNoneMatchAny
    case unguarded
}

/// The content of a request; the shell adds the media type of a patch.
package enum SendContent: Hashable, Sendable {
    case none
    case body([UInt8])
    case mergePatch([UInt8])
    case jsonPatch([UInt8])

    package var bytes: [UInt8]? {
        switch self {
        case .none: nil
        case .body(let bytes), .mergePatch(let bytes), .jsonPatch(let bytes): bytes
        }
    }
}

/// A request to make. The shell checks the origin against its policy, adds the credential's fields for this origin,
/// and follows no redirect.
package struct SendOrder: Hashable, Sendable {
    package let flight: Flight
    package var namespace: String
    package var method: String
    /// The URL of the change, or that to which a redirect leads.
    package var url: String
    /// The resource of the change.
    package var target: ChangeTarget
    package var fields: [ChangeField]
    package var credential: String?
    package var content: SendContent
    package var guarding: WriteGuard
    /// The text of `Idempotency-Key` without quotes; `nil`: the request has no such field.
    package var idempotencyKey: String?
}

/// A GET to make, past the caches on the way (`Cache-Control: no-cache`). The shell follows no redirect.
package struct ReadOrder: Hashable, Sendable {
    package enum Purpose: Hashable, Sendable {
        /// The machine compares the version with the base.
        case look
        /// The GET shows readers the effect of the confirmed change.
        case confirmation
    }

    package let flight: Flight
    package var purpose: Purpose
    package var namespace: String
    /// As ``SendOrder/url``.
    package var url: String
    /// As ``SendOrder/target``.
    package var target: ChangeTarget
    /// The change's own fields, by which the origin may tell resources, tenants or representations apart. Empty for a
    /// confirmation, because readers of the cache get the version of a GET without them.
    package var fields: [ChangeField]
    package var credential: String?
}

/// A three-way merge to compute.
package struct MergeOrder: Hashable, Sendable {
    package let flight: Flight
    /// `nil`: the author saw no resource.
    package var base: [UInt8]?
    /// `nil`: the change deletes the resource.
    package var ours: [UInt8]?
    package var theirs: [UInt8]
    /// Whether ours wins where both sides changed a value in different ways. Then only bodies that are no JSON clash.
    package var prefersOurs = false
    /// The change's own patch; ``MergeResult/clean(body:patch:)`` needs a patch of the same form. `nil`: the request
    /// has the whole body.
    package var patch: Edit?
    /// `nil`: ours and theirs do not become one change.
    package var join: JoinOrder?
}

/// The condition under which the change of a ``MergeOrder`` becomes one with the changes before, with theirs as their
/// body: no version of the origin may lead to another result than the changes one after another.
package struct JoinOrder: Hashable, Sendable {
    /// The base of the first change; `nil`: its author saw no resource.
    package var first: [UInt8]?
    /// Whether the body of the last change's own base is unknown. The change then replaces any other version whole.
    package var replacesWhole: Bool
}

/// A version in the cache that is older than the effect of a change that ends.
package struct RemovalOrder: Hashable, Sendable {
    package let flight: Flight
    package var namespace: String
    package var target: ChangeTarget
    /// Whether the change deletes the resource. Otherwise pinned and held versions stay, and become stale.
    package var isDeletion: Bool
}

/// A later change was made on a body that the origin has rewritten while it stored it.
package struct RewriteNote: Hashable, Sendable {
    package var namespace: String
    package var key: String
    /// The change that sent the body. Only later changes are concerned.
    package var after: Change.ID
    package var sent: BodyDigest
    package var stored: BodyDigest
}

/// The reason why a decision of a caller has no effect.
package enum Refusal: Hashable, Sendable {
    /// The request is under way, or another decision is.
    case busy
    case confirmed
    case ended
    /// The state of the change leaves no decision to make.
    case notHeld(ChangeState)
    case bodyTooLarge
    case invalid(DraftFault)
    /// The store could not keep the decision.
    case notKept
}

/// An output of ``OutboxMachine``. The shell performs the actions of one step in their order. No action waits for
/// another, because the machine goes on when the events arrive.
package enum OutboxAction: Hashable, Sendable {
    /// Read the row, and answer with ``OutboxEvent/loaded(_:_:)`` or ``OutboxEvent/loadFailed(_:)``.
    case load(Change.ID)
    /// Write the rows in one durable transaction, and answer with ``OutboxEvent/committed(_:)`` or
    /// ``OutboxEvent/commitFailed(_:)``.
    case commit([Change])
    case read(ReadOrder)
    case merge(MergeOrder)
    case send(SendOrder)
    /// Call the machine at this date, instead of at an earlier `wake`; `nil`: no date is pending.
    case wake(Timestamp?)
    /// Tell listeners the new state, which is durable.
    case publish(ChangeSummary)
    /// Remove the version in the cache, and answer with ``OutboxEvent/versionRemoved(_:)`` or
    /// ``OutboxEvent/versionNotRemoved(_:)``.
    case removeVersion(RemovalOrder)
    /// Answer readers without this change.
    case dropFromView(ChangeSummary)
    /// Store ``Change/rewrittenBase`` in later changes with this base. A loss only leads to a needless conflict.
    case noteRewrite(RewriteNote)
    /// Store the pause of the namespace and origin, in place of an earlier one, for
    /// ``OutboxEvent/restarted(_:pauses:)``. A loss only leads to requests before its end.
    case notePause(HostPause)
    /// Tell the caller that the decision, which the first of its changes names, has no effect. Every other decision is
    /// durable when this change is next published.
    case refuse(Change.ID, Refusal)
}
