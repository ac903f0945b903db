import Crypto
import DiskCache
import HTTPCaching
import JSONEdits
import Outbox
import Primitives

/// The body of a URL as its readers see it: the version in the cache with the pending changes applied in their order.
///
/// A change on the version that is there replaces it. On any other version, the change is merged, and where both edits
/// clash, readers see the edit of the change, unless its author prefers the origin's version. So the body may differ
/// from the version that the origin will have.
package struct PendingBody: Sendable {
    package enum Content: Sendable {
        /// The version in the cache has the effects of all changes.
        case remote(StoredEntry)
        /// Without `type`, the media type is unknown.
        case own(SharedBytes, type: String?)
        /// The last change deletes the resource.
        case absent
    }

    package let content: Content
    /// The number of changes that the body has.
    package let count: Int
    /// A strong tag, which is not the tag of the version in the cache, even if both have the same bytes.
    package let etag: EntityTag
    /// The version in the cache; `nil`: there is none.
    package let remote: StoredEntry?
    /// The media type, also of an absent body, for later changes without a type of their own.
    fileprivate let type: String?
    /// The changes with an effect on the body.
    fileprivate let ids: [Change.ID]
    /// All changes up to the last one that was looked at, in their order.
    let seen: [Change.ID]
}

extension PendingBody {
    /// Applies changes one after another, so that only one of them is in memory. A body is never longer than a limit,
    /// except that of the cache: a change replaces a body that is too long to be merged, or would become so.
    struct Composition {
        private enum State {
            case remote(CachedVersion)
            case own([UInt8])
            case absent
        }

        private let remote: StoredEntry?
        /// The longest body that is merged, or results from a merge, in bytes.
        private let limit: Int
        private var state: State
        private var type: String?
        private var ids: [Change.ID] = []
        private var seen: [Change.ID] = []

        init(over remote: StoredEntry?, limit: Int) {
            self.remote = remote
            self.limit = limit
            state = remote.map { .remote(CachedVersion(entry: $0.entry, body: $0.body)) } ?? .absent
            type = remote?.entry.contentType
        }

        /// Continues with later changes.
        init(extending body: PendingBody, limit: Int) {
            remote = body.remote
            self.limit = limit
            state =
                switch body.content {
                case .remote(let stored): .remote(CachedVersion(entry: stored.entry, body: stored.body))
                case .own(let bytes, _): .own(bytes.withUnsafeBytes(Array.init))
                case .absent: .absent
                }
            (type, ids, seen) = (body.type, body.ids, body.seen)
        }

        /// Leaves out a change of another resource, and one that the reader must not see.
        mutating func skip(_ id: Change.ID) { seen.append(id) }

        /// A POST has no effect on the body of its URL. May wait for the disk.
        mutating func apply(_ change: Change) {
            seen.append(change.id)
            switch change.draft.edit {
            case .post: return
            case .delete: state = .absent
            case .replace, .mergePatch, .jsonPatch: if let ours = change.draft.ours { apply(ours, of: change) }
            }
            ids.append(change.id)
        }

        private mutating func apply(_ ours: [UInt8], of change: Change) {
            let theirs: [UInt8]
            switch state {
            case .absent: return replace(by: ours, of: change)
            case .own(let body):
                guard body.count <= limit, !change.isMade(on: BodyDigest(of: body)) else {
                    return replace(by: ours, of: change)
                }
                theirs = body
            case .remote(let version):
                guard let digest = BodyDigest(bytes: version.entry.digest), !change.isMade(on: digest),
                    BodyDigest(of: ours) == digest || version.body.length <= Int64(limit),
                    // A body that cannot be read is replaced, as a missing body is.
                    let body = try? version.body.bytes().withUnsafeBytes(Array.init)
                else { return replace(by: ours, of: change) }
                theirs = body
            }
            guard let base = change.mergeBase else { return replace(by: ours, of: change) }
            // A clash with a body that the origin has made of the author's own earlier edit is none with a rival.
            let prefersOurs = change.draft.onConflict != .theirs || change.mergesRewriting(BodyDigest(of: theirs))
            switch BodyMerge(base: base, ours: ours, theirs: theirs, prefersOurs: prefersOurs) {
            case .theirs: break
            case .ours: replace(by: ours, of: change)
            case .merged(let body): replace(by: body.count <= limit ? body : ours, of: change)
            case .clash, .conflict: if prefersOurs { replace(by: ours, of: change) }
            }
        }

        private mutating func replace(by body: [UInt8], of change: Change) {
            state = .own(body)
            type = change.draft.contentType ?? type
        }

        /// `nil` if no change had an effect on the body.
        func finish() -> PendingBody? {
            guard !ids.isEmpty else { return nil }
            let (content, digest): (Content, [UInt8]) =
                switch state {
                case .remote(let version):
                    (remote.map { .remote($0) } ?? .absent, version.entry.digest)
                case .own(let body): (.own(SharedBytes(body), type: type), BodyDigest(of: body).bytes)
                case .absent: (.absent, [])
                }
            var hash = SHA256()
            hash.update(data: digest)
            hash.update(data: Array(ids.map { "\n\($0)" }.joined().utf8))
            let etag = SelectedRepresentation.etag(Array(hash.finalize()).prefix(16))
            return PendingBody(
                content: content, count: ids.count, etag: etag, remote: remote, type: type, ids: ids, seen: seen)
        }
    }
}

extension Change {
    /// Whether the change replaces a version without a merge.
    fileprivate func isMade(on digest: BodyDigest) -> Bool {
        draft.base == .blind || (isBase(digest) && !mergesRewriting(digest))
    }

    /// `nil`: the body of the base was too long to be kept.
    fileprivate var mergeBase: MergeBase<[UInt8]>? {
        switch draft.base {
        case .absent, .blind: .missing
        case .version(let version): version.body.map(MergeBase.value)
        }
    }
}

/// The bodies of a resource that the author of a change may have seen.
struct ShownVersions: Sendable {
    var remote: CachedVersion?
    /// `nil`: the resource has no pending changes.
    var pending: PendingBody?

    init(remote: CachedVersion? = nil) { self.remote = remote }

    init(pending: PendingBody) {
        self.pending = pending
        remote = pending.remote.map { CachedVersion(entry: $0.entry, body: $0.body) }
    }

    /// The version with the tag, and its media type as far as it is known; without a tag, the version that readers see.
    /// `nil`: there is none. A body of more than `limit` bytes counts by its digest only. May wait for the disk.
    func version(tagged tag: String?, limit: Int) throws(DiskCacheError) -> (ResourceVersion, type: String?)? {
        if let pending, tag == nil || tag == pending.etag.text {
            switch pending.content {
            case .absent: return nil
            case .own(let bytes, let type):
                return (ResourceVersion(body: bytes.withUnsafeBytes(Array.init), validator: nil), type)
            case .remote: return try remoteVersion(limit: limit)
            }
        }
        guard let remote, tag.map(remote.has) ?? true else { return nil }
        return try remoteVersion(limit: limit)
    }

    private func remoteVersion(limit: Int) throws(DiskCacheError) -> (ResourceVersion, type: String?)? {
        guard let remote, let version = try remote.version(limit: limit) else { return nil }
        return (version, remote.entry.contentType)
    }
}
