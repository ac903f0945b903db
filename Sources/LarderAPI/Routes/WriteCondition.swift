import DiskCache
import HTTPCaching
import HTTPTypes
import MicroHTTPD
import Primitives

/// The conditions of a PUT, PATCH or DELETE: If-Match, If-None-Match and If-Unmodified-Since, in the order of RFC 9110
/// §13.2.2. (If-Modified-Since is for GET and HEAD alone, §13.1.3.)
///
/// Each is evaluated twice. The first time is when the head of the request is there, so that no body is asked for in
/// vain. The second time is in the transaction of the change, so that of several requests that race with
/// `If-None-Match: *` one succeeds.
///
///     try WriteCondition(head.request, at: now)?.check(head.parameter("key"), in: head.cache)
struct WriteCondition: Sendable {
    private static let fieldNames: [HTTPField.Name] = [.ifMatch, .ifNoneMatch, .ifUnmodifiedSince]

    private let conditions: ConditionalRequest
    private let now: Timestamp
    /// Whether the request can succeed where nothing is held: then its conditions count there, too. Otherwise the
    /// answer is 404, which goes before them (§13.2.1).
    private let creates: Bool

    /// `nil` when the request makes no condition.
    init?(_ request: Request, at now: Timestamp) {
        let fields = request.fields(named: Self.fieldNames)
        guard !fields.isEmpty, let method = HTTPRequest.Method(rawValue: request.method) else { return nil }
        conditions = ConditionalRequest(fields, method: method, now: now)
        creates = method == .put
        self.now = now
    }

    /// Whether they hold for an entry, fresh or stale: by the strong ETag of its body, and by the date that its origin
    /// gave it or, without one, by the time at which it was stored.
    ///
    /// - Parameter entry: the entry that is held; `nil`: there is none.
    func holds(for entry: Entry?) -> Bool {
        guard let entry else { return conditions.evaluate(nil) == .proceed }
        var current = entry.representation(now: now)
        current.lastModified = current.lastModified ?? entry.createdDate
        return conditions.evaluate(current) == .proceed
    }

    /// Whether they hold for a resource that has neither ETag nor date, such as a namespace: of the tags only `*` names
    /// it, and If-Unmodified-Since is ignored (§13.1.4).
    ///
    /// - Parameter exists: whether it is there.
    func holds(forUntagged exists: Bool) -> Bool {
        conditions.evaluate(exists ? SelectedRepresentation(etag: nil, lastModified: nil) : nil) == .proceed
    }

    /// Looks at the entry of a key before the body of the request is asked for.
    ///
    /// The look-up may read a page of the index from the disk on libmicrohttpd's thread: only a request with a
    /// condition costs that, and a body that is read in vain costs more.
    ///
    /// - Parameter url: the canonical URL that the key was made of; an entry of another URL with the same MD5 is none.
    /// - Throws: 412, and ``Problem`` for an index that cannot be read.
    func check(_ key: String, url: String? = nil, in cache: DiskCache) throws(Problem) {
        let entry: Entry?
        do throws(DiskCacheError) {
            entry = try cache.entry(for: key, expectingURL: url)
        } catch {
            throw Problem(error)
        }
        guard entry != nil || creates else { return }
        if !holds(for: entry) { throw .preconditionFailed }
    }

    /// Looks at a resource that has neither ETag nor date; see ``holds(forUntagged:)``. Throws 412.
    func check(untagged exists: Bool) throws(Problem) {
        guard exists || creates else { return }
        if !holds(forUntagged: exists) { throw .preconditionFailed }
    }
}

extension Problem {
    /// RFC 9110 §15.5.13.
    static let preconditionFailed = Problem(
        status: 412,
        detail: "If-Match, If-None-Match or If-Unmodified-Since does not hold for what is stored; nothing was changed")
}
