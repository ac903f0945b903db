import Primitives

/// The accesses to an entry that the index does not have yet: hits, and perhaps a slide of its expiry.
struct PendingAccess: Sendable, Equatable {
    /// The new expiry that a slide has set.
    struct Slide: Sendable, Equatable {
        var ttl: Duration
        var expiryDate: Timestamp
    }

    /// The version of the entry. The accesses do not apply to any other version.
    var version: Int64
    /// The number of hits; when `writtenHits` is set, the number of hits since then.
    var hits: Int64 = 0
    var lastAccess = Timestamp(milliseconds: .min)
    var slide: Slide?
    /// The number of hits that the entry has with the hits that a flush has written; `nil` when no flush has written
    /// any.
    var writtenHits: Int64?

    /// Adds a later access. If the versions differ, the newer version replaces the older one.
    mutating func merge(_ later: PendingAccess) {
        guard later.version == version else {
            if later.version > version { self = later }
            return
        }
        hits = later.writtenHits == nil ? hits + later.hits : later.hits
        writtenHits = later.writtenHits ?? writtenHits
        lastAccess = max(lastAccess, later.lastAccess)
        slide = later.slide ?? slide
    }

    /// The access after a flush has written it. With the flush the entry has `hits` hits.
    func written(hits: Int64) -> PendingAccess {
        var access = self
        (access.hits, access.writtenHits) = (0, hits)
        return access
    }
}

extension Entry {
    /// The entry with the pending access applied. The result is the same whether the entry was read before or after the
    /// commit of a flush that has written the access.
    func applying(_ access: PendingAccess?) -> Entry {
        guard let access, access.version == version else { return self }
        var entry = self
        entry.hits = max(entry.hits, access.writtenHits ?? 0) + access.hits
        entry.lastAccessDate = max(lastAccessDate, access.lastAccess)
        if let slide = access.slide {
            entry.ttl = slide.ttl
            entry.expiryDate = slide.expiryDate
        }
        return entry
    }
}
