import DiskCache
import Outbox

/// The last bodies with pending changes, because a reader that polls a body must not merge it each time. Each
/// place has at most one body, that of its last revision.
struct PendingBodies {
    struct Place: Hashable {
        let namespace: String
        let key: String
        /// As in ``OutboxService/pendingBody(of:url:in:seesSecrets:completion:)``.
        let url: String?
        let seesSecrets: Bool
    }

    struct Held {
        let body: PendingBody
        let revision: PendingKeys.Revision
    }

    /// The most bytes of bodies, sixteen of the longest ones.
    private static let byteLimit = 16 << 20
    private static let countLimit = 256
    private var bodies: [Place: Held] = [:]
    private(set) var byteCount = 0

    var count: Int { bodies.count }

    /// `nil` if there is no body, or if it was made over another version of the cache.
    func find(_ place: Place, over remote: StoredEntry?) -> Held? {
        guard let held = bodies[place], held.body.remote?.entry.version == remote?.entry.version else { return nil }
        return held
    }

    mutating func insert(_ body: PendingBody, of revision: PendingKeys.Revision, at place: Place) {
        remove(place)
        if byteCount + body.ownBytes > Self.byteLimit || bodies.count >= Self.countLimit {
            (bodies, byteCount) = ([:], 0)
        }
        bodies[place] = Held(body: body, revision: revision)
        byteCount += body.ownBytes
    }

    /// Removes the bodies of a key without pending changes.
    mutating func remove(_ key: String, in namespace: String) {
        for place in bodies.keys where place.key == key && place.namespace == namespace { remove(place) }
    }

    mutating func removeAll(in namespace: String) {
        for place in bodies.keys where place.namespace == namespace { remove(place) }
    }

    private mutating func remove(_ place: Place) {
        byteCount -= bodies.removeValue(forKey: place)?.body.ownBytes ?? 0
    }
}

extension PendingBody {
    /// The bytes that only this value holds.
    fileprivate var ownBytes: Int { if case .own(let bytes, _) = content { bytes.count } else { 0 } }
}
