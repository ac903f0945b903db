import Primitives

/// Changes that are made from other changes.
extension Change {
    /// Makes one change of several, as the base of the first and the last body. Patches are not composed, because the
    /// last body already has all of them.
    ///
    /// The last change survives with its id, so it keeps its place in the lane. The others become `cancelled`.
    ///
    /// - Parameter changes: neighbours in one lane, in order.
    /// - Throws: ``OutboxError/invalid(_:)`` when a change is not pending, may have been applied, is a POST, or edits
    ///   another resource or has another credential, and when a creation and a deletion leave no edit.
    package static func squash(_ changes: [Change]) throws(OutboxError) -> (survivor: Change, cancelled: [Change]) {
        guard changes.count > 1, let first = changes.first, let last = changes.last else {
            throw .invalid(.squash("expected at least two changes"))
        }
        for change in changes {
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
        }
        guard zip(changes, changes.dropFirst()).allSatisfy({ $0.id < $1.id }) else {
            throw .invalid(.squash("expected the changes in the order of their lane"))
        }
        var survivor = last
        (survivor.draft.base, survivor.draft.baseType) = (first.draft.base, first.draft.baseType)
        survivor.rewrittenBase = first.rewrittenBase
        if last.draft.edit == .delete {
            guard first.draft.base != .absent else {
                throw .invalid(.squash("the resource is created and deleted again; cancel the changes"))
            }
        } else {
            survivor.draft.becomeWhole()
        }
        let cancelled = changes.dropLast().map { change in
            var change = change
            change.state = .cancelled
            change.problem = ChangeProblem(.squashed)
            change.nextAttempt = nil
            return change
        }
        return (survivor, cancelled)
    }

    /// A draft that takes back the effect of this change, and keeps later edits of other members by a merge.
    ///
    /// - Throws: ``OutboxError/invalid(_:)`` for a change that is not `confirmed` or `done`, for a POST, and for a
    ///   change without a known base.
    package func reverted(by caller: String) throws(OutboxError) -> ChangeDraft {
        guard state == .done || state == .confirmed else {
            throw .invalid(.revert("it is \(state.rawValue), and only a change with an effect has one to take back"))
        }
        var revert = draft
        revert.caller = caller
        revert.callerKey = nil
        revert.expires = nil
        revert.edit = .replace
        revert.method = "PUT"
        // The fields of the content describe ours, which is the base of the revert.
        let type = draft.baseType ?? draft.contentType
        revert.fields.removeAll { $0.isAboutContent }
        revert.baseType = draft.contentType
        switch (draft.edit, draft.base) {
        case (.post, _): throw .invalid(.revert("it is a POST"))
        case (_, .blind): throw .invalid(.revert("it has no base"))
        case (.delete, .version(let version)):
            revert.base = .absent
            revert.ours = version.body
        case (.delete, .absent): throw .invalid(.revert("it has no base"))
        case (_, .absent):
            revert.edit = .delete
            revert.method = "DELETE"
            revert.base = .version(ResourceVersion(body: draft.ours ?? [], validator: nil))
            revert.ours = nil
        case (_, .version(let version)):
            revert.base = .version(ResourceVersion(body: draft.ours ?? [], validator: nil))
            revert.ours = version.body
        }
        if revert.edit != .delete { revert.setContentType(type) }
        guard revert.edit == .delete || revert.ours != nil else { throw .invalid(.revert("its base was not kept")) }
        return revert
    }
}
