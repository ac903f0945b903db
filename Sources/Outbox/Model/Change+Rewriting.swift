import Primitives

/// A change that is made from another change.
extension Change {
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
