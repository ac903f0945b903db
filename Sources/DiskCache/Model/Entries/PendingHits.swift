import Primitives

/// The hits of an entry that the index does not have yet, and perhaps a slide of its expiry.
struct PendingHits: Sendable, Equatable {
    struct Slide: Sendable, Equatable {
        var ttl: Duration
        var expiryDate: Timestamp
    }

    /// The hits and the slide apply to no other version of the entry.
    var version: Int64
    /// The hits since `writtenHits`, if that is set.
    var hits: Int64 = 0
    var lastAccess = Timestamp(milliseconds: .min)
    var slide: Slide?
    /// The number of hits of the entry in the index after a flush; `nil` when no flush has written hits.
    var writtenHits: Int64?

    /// If the versions differ, the newer version replaces the older one.
    mutating func merge(_ later: PendingHits) {
        guard later.version == version else {
            if later.version > version { self = later }
            return
        }
        hits = later.writtenHits == nil ? hits + later.hits : later.hits
        writtenHits = later.writtenHits ?? writtenHits
        lastAccess = max(lastAccess, later.lastAccess)
        slide = later.slide ?? slide
    }

    /// The pending hits after the flush that brought the entry to `hits` hits.
    func written(hits: Int64) -> PendingHits {
        var written = self
        (written.hits, written.writtenHits) = (0, hits)
        return written
    }
}

extension Entry {
    /// The result is the same whether the entry was read before or after the commit of a flush that wrote the hits.
    func applying(_ pending: PendingHits?) -> Entry {
        guard let pending, pending.version == version else { return self }
        var entry = self
        entry.hits = max(entry.hits, pending.writtenHits ?? 0) + pending.hits
        entry.lastAccessDate = max(lastAccessDate, pending.lastAccess)
        if let slide = pending.slide {
            entry.ttl = slide.ttl
            entry.expiryDate = slide.expiryDate
        }
        return entry
    }
}
