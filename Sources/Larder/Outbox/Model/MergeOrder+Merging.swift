import JSONEdits
import Outbox
import Primitives

extension MergeOrder {
    /// Merges ours into theirs. Takes a time that is proportional to the bodies.
    func merged() -> MergeResult {
        guard let ours else { return theirsIsBase ? .theirsIsBase : .clash }
        let mergeBase = base.map(MergeBase.value) ?? .missing
        let ownBase = join?.replacesWhole == true ? .unknown : mergeBase
        let first = join.map { $0.first.map(MergeBase.value) ?? .missing }
        if let first, !JoinedEdits.areSound(first: first, before: theirs, base: ownBase, ours: ours) {
            return .takenBack
        }
        return switch BodyMerge(base: mergeBase, ours: ours, theirs: theirs, prefersOurs: prefersOurs) {
        case .theirs: .equalsTheirs
        case .ours: theirsIsBase ? .theirsIsBase : .clean(body: ours, patch: patch(to: ours))
        case .merged(let body): .clean(body: body, patch: patch(to: body))
        case .clash, .conflict: .clash
        }
    }

    private var theirsIsBase: Bool { base.map { BodyMerge.isSameValue($0, theirs) } ?? false }

    /// The patch that turns theirs into `body`, in the form of the change's own patch. `nil` for a change without a
    /// patch, and when no patch of this form leads there.
    private func patch(to body: [UInt8]) -> [UInt8]? {
        guard let edit = patch, let before = try? JSON(parsing: theirs), let after = try? JSON(parsing: body) else {
            return nil
        }
        switch edit {
        case .mergePatch: return JSONDifference(from: before, to: after, limit: 0).mergePatch?.json.utf8
        case .jsonPatch:
            let difference = JSONDifference(from: before, to: after, limit: JSONPatch.Limits().operations)
            guard difference.more == 0 else { return nil }
            return JSON.array(difference.changes.map(\.operation)).utf8
        case .replace, .delete, .post: return nil
        }
    }
}

extension JSONDifference.Change {
    /// The operation of a JSON Patch with the effect of the change (RFC 6902 §4).
    fileprivate var operation: JSON {
        let path = JSON.string(pointer.description)
        guard let after else { return ["op": "remove", "path": path] }
        return ["op": before == nil ? "add" : "replace", "path": path, "value": after]
    }
}
