@testable import Outbox

extension FlatObject {
    /// The body that readers see: a version of the origin with the pending changes; `nil`: there is no resource.
    static func view(_ changes: some Sequence<Change>, over remote: [UInt8]?) -> [UInt8]? {
        changes.sorted { $0.id < $1.id }.reduce(remote) { body, change in
            if change.draft.edit == .post { return body }
            guard let ours = change.draft.ours, let theirs = body else { return change.draft.ours }
            let digest = BodyDigest(of: theirs)
            if change.draft.base == .blind || (change.isBase(digest) && !change.mergesRewriting(digest)) { return ours }
            let base = change.draft.base.version
            if let base, base.body == nil { return ours }
            let prefersOurs = change.draft.onConflict != .theirs || change.mergesRewriting(digest)
            let order = MergeOrder(
                flight: Flight(change: change.id, number: 0), base: base?.body, ours: ours, theirs: theirs,
                prefersOurs: prefersOurs, patch: nil)
            switch merge(order) {
            case .equalsTheirs: return theirs
            case .theirsIsBase: return ours
            case .clean(let merged, _): return merged
            case .clash, .takenBack: return prefersOurs ? ours : theirs
            }
        }
    }
}
