import Primitives

/// What was done to an entry since it was last written down: it was handed out, and perhaps its expiry slid.
struct PendingAccess: Sendable, Equatable {
    /// A new expiry, as a slide set it.
    struct Slide: Sendable, Equatable {
        var ttl: Duration
        var expiryDate: Timestamp
    }

    /// The version of the entry that this is about; of any other it says nothing.
    var version: Int64
    /// How often the entry was handed out; once `writtenHits` is known, since that was.
    var hits: Int64 = 0
    var lastAccess = Timestamp(milliseconds: .min)
    var slide: Slide?
    /// How many hits the entry has with those that a flush has written; `nil`: none has.
    var writtenHits: Int64?

    /// Adds what happened later; of two versions the newer counts.
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

    /// The same once a flush has written it, after which the entry has that many hits.
    func written(hits: Int64) -> PendingAccess {
        var access = self
        (access.hits, access.writtenHits) = (0, hits)
        return access
    }
}

extension Entry {
    /// The entry as it is with what is still to be written down. It does not matter whether the entry was read before
    /// or after the commit of what a flush has written.
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
