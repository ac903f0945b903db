import Primitives

/// Several changes that become one, with the base of the first and a body that has the edits of all of them.
///
/// The author of a later change need not have seen the earlier ones. So the body of each change is merged into the body
/// before, as it is when the changes are sent one after another. A merge that needs a decision ends the squash, because
/// no edit may be lost without one. Patches are not composed: the change that survives sends its body.
///
/// A squash changes neither the body that readers see nor the end at the origin, over any version that the origin may
/// have. So it ends where the change that survives would not tell an edit: a later change has set a value back to that
/// of the first base, or has created the resource again, or gives way to the origin's version as a whole.
///
/// The last change survives with its id, so it keeps its place in the lane. The others become `cancelled`.
///
///     var squash = try Squash(changes)
///     while let order = try squash.nextMerge(number) { try squash.take(merge(order), limits) }
///     let (survivor, cancelled) = squash.result
struct Squash: Sendable {
    private let changes: [Change]
    /// The body with the edits of the first `count` changes; `nil`: they delete the resource.
    private var body: [UInt8]?
    private var count = 1

    /// - Parameter changes: neighbours in one lane, in order.
    /// - Throws: ``OutboxError/invalid(_:)`` when a change is not pending, may have been applied, is a POST, edits
    ///   another resource, has another credential or date of expiry, or gives way to the origin's version, when only
    ///   some of the changes are blind, when the first one is a PATCH, and when a creation and a deletion leave no
    ///   edit.
    init(_ changes: [Change]) throws(OutboxError) {
        guard changes.count > 1, let first = changes.first, let last = changes.last else {
            throw .invalid(.squash("expected at least two changes"))
        }
        for change in changes { try Self.check(change, first) }
        guard zip(changes, changes.dropFirst()).allSatisfy({ $0.id < $1.id }) else {
            throw .invalid(.squash("expected the changes in the order of their lane"))
        }
        if last.draft.edit == .delete, first.draft.base == .absent {
            throw .invalid(.squash("the resource is created and deleted again; cancel the changes"))
        }
        self.changes = changes
        // The origin may take no PUT, and a PATCH never replaces a version that it cannot be merged into.
        if first.draft.method == "PATCH" {
            throw .invalid(.squash("change \(first.id) is a PATCH, and a squash sends a PUT"))
        }
        body = first.draft.ours
        // A merge keeps the members that the origin has added while it rewrote the base, and other changes do not.
        let isMerged = first.draft.onConflict != .hold
        if first.rewrittenBase != nil, isMerged != (policy != .hold) {
            throw .invalid(.squash("the origin has rewritten the version that change \(first.id) was made on"))
        }
    }

    private static func check(_ change: Change, _ first: Change) throws(OutboxError) {
        let draft = change.draft
        guard change.state == .pending, !change.mayBeApplied else {
            throw .invalid(.squash("change \(change.id) is being sent, or is \(change.state.rawValue)"))
        }
        guard draft.edit != .post else { throw .invalid(.squash("change \(change.id) is a POST")) }
        let isSameResource =
            draft.namespace == first.draft.namespace && draft.target.key == first.draft.target.key
            && draft.laneName == first.draft.laneName && draft.caller == first.draft.caller
        guard isSameResource else {
            throw .invalid(.squash("change \(change.id) has another resource, lane or caller"))
        }
        // The origin shows the body of a change with a credential only to the owner of the credential.
        guard draft.credential == first.draft.credential else {
            throw .invalid(.squash("change \(change.id) has another credential"))
        }
        guard (draft.base == .blind) == (first.draft.base == .blind) else {
            throw .invalid(.squash("some of the changes have the base \"blind\", and change \(change.id) differs"))
        }
        // The edits would end at another date, or never.
        guard draft.expires == first.draft.expires else {
            throw .invalid(.squash("change \(change.id) expires at another date"))
        }
        // A clash of one edit would cancel all of them.
        if draft.onConflict == .theirs, draft.base != .blind {
            throw .invalid(.squash("change \(change.id) has \"onConflict\": \"theirs\""))
        }
    }

    /// The next merge to compute; `nil`: the body has all edits.
    ///
    /// - Parameter number: the number of the merge.
    /// - Throws: ``OutboxError/invalid(_:)`` when a merge is necessary but impossible.
    mutating func nextMerge(_ number: UInt64) throws(OutboxError) -> MergeOrder? {
        while count < changes.count {
            if let order = try merge(of: changes[count], number) { return order }
            body = changes[count].draft.ours
            count += 1
        }
        return nil
    }

    /// `nil`: the change's own body replaces the one before.
    private func merge(of change: Change, _ number: UInt64) throws(OutboxError) -> MergeOrder? {
        let (base, ours) = (change.draft.base, change.draft.ours)
        if base == .blind { return nil }
        guard let body else {
            if ours == nil { return nil }
            throw .invalid(.squash("a change before change \(change.id) deletes the resource"))
        }
        var baseBody = base.version?.body
        if let version = base.version {
            if version.digest == BodyDigest(of: body) {
                // Readers see no other version after a deletion.
                if ours == nil { return nil }
                baseBody = body
            } else if version.body == nil {
                throw .invalid(.squash("the version that change \(change.id) was made on was not kept"))
            }
        }
        return MergeOrder(
            flight: Flight(change: change.id, number: number), base: baseBody, ours: ours, theirs: body, patch: nil,
            join: join(base))
    }

    /// `nil`: the first base was not kept, so the body of the squash replaces any other version, as those before did.
    private func join(_ base: Base) -> JoinOrder? {
        let first = changes[0].draft.base.version
        if let first, first.body == nil { return nil }
        return JoinOrder(first: first?.body, replacesWhole: base.version.map { $0.body == nil } ?? false)
    }

    /// Takes the result of the merge that ``nextMerge(_:)`` has ordered.
    ///
    /// - Throws: ``OutboxError/invalid(_:)`` when a decision is necessary, and when the body becomes too long.
    mutating func take(_ result: MergeResult, _ limits: OutboxLimits) throws(OutboxError) {
        let change = changes[count]
        switch result {
        case .equalsTheirs: break
        case .theirsIsBase: body = change.draft.ours
        case .clean(let merged, _) where change.draft.onConflict != .hold:
            guard merged.count <= limits.changeBytes else {
                throw .invalid(.squash("the body would be longer than \(limits.changeBytes) bytes"))
            }
            body = merged
        case .clean: throw .invalid(.squash("change \(change.id) was made on another version, and permits no merge"))
        case .clash: throw .invalid(.squash("change \(change.id) clashes with the changes before"))
        case .takenBack:
            let reason = "change \(change.id) sets a value back to that before the changes, and one change cannot tell"
            throw .invalid(.squash(reason))
        }
        count += 1
    }

    /// The policy that asks most often, because no clash may be decided without the decision that its author wants.
    private var policy: ConflictPolicy {
        let policies = changes.map(\.draft.onConflict)
        return policies.contains(.hold) ? .hold : policies.contains(.merge) ? .merge : policies[policies.count - 1]
    }

    /// The changes with their new states, after the last merge.
    var result: (survivor: Change, cancelled: [Change]) {
        let first = changes[0]
        var survivor = changes[changes.count - 1]
        (survivor.draft.base, survivor.draft.baseType) = (first.draft.base, first.draft.baseType)
        survivor.rewrittenBase = first.rewrittenBase
        survivor.draft.ours = body
        survivor.draft.onConflict = policy
        if survivor.draft.edit != .delete { survivor.draft.becomeWhole() }
        let cancelled = changes.dropLast().map { change in
            var change = change
            change.state = .cancelled
            change.problem = ChangeProblem(.squashed)
            change.nextAttempt = nil
            return change
        }
        return (survivor, cancelled)
    }
}
