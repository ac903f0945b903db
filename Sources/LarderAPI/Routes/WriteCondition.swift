import DiskCache
import HTTPCaching
import HTTPTypes
import MicroHTTPD
import Primitives

/// The conditions of a PUT, PATCH or DELETE: If-Match, If-None-Match and If-Unmodified-Since, in the order of RFC 9110
/// §13.2.2. (If-Modified-Since applies only to GET and HEAD, §13.1.3.)
///
/// Conditions are evaluated twice. The first time is when the head of the request is complete, so that no body is sent
/// in vain. The second time is in the transaction of the change, so that only one of several racing requests with
/// `If-None-Match: *` succeeds.
///
///     try WriteCondition(head.request, at: now)?.check(head.parameter("key"), in: head.cache)
struct WriteCondition: Sendable {
    private static let fieldNames: [HTTPField.Name] = [.ifMatch, .ifNoneMatch, .ifUnmodifiedSince]

    private let conditions: ConditionalRequest
    private let now: Timestamp
    /// Whether the request can succeed without an existing entry. Then its conditions apply without an entry, too. For
    /// other requests the answer is 404, which takes precedence over the conditions (§13.2.1).
    private let creates: Bool

    /// Reads the conditions of a request; `nil` if it has none.
    init?(_ request: Request, at now: Timestamp) {
        let fields = request.fields(named: Self.fieldNames)
        guard !fields.isEmpty, let method = HTTPRequest.Method(rawValue: request.method) else { return nil }
        conditions = ConditionalRequest(fields, method: method, now: now)
        creates = method == .put
        self.now = now
    }

    /// Whether the conditions hold for an entry, fresh or stale. They apply to the strong ETag of its body, and to the
    /// origin's date or, without that, to the time of storing.
    ///
    /// - Parameter entry: the present entry; `nil` if there is none.
    func holds(for entry: Entry?) -> Bool {
        guard let entry else { return conditions.evaluate(nil) == .proceed }
        var current = entry.representation(now: now)
        current.lastModified = current.lastModified ?? entry.createdDate
        return conditions.evaluate(current) == .proceed
    }

    /// Whether the conditions hold for a resource without an ETag and a date, such as a namespace. Only the tag `*`
    /// matches it, and If-Unmodified-Since is ignored (§13.1.4).
    ///
    /// - Parameter exists: whether the resource exists.
    func holds(forUntagged exists: Bool) -> Bool {
        conditions.evaluate(exists ? SelectedRepresentation(etag: nil, lastModified: nil) : nil) == .proceed
    }

    /// Checks the conditions for an entry before the body of the request is read.
    ///
    /// The look-up may read a page of the index from the disk on libmicrohttpd's thread. Only requests with conditions
    /// take that time, and a body that is read in vain would take more.
    ///
    /// - Parameter url: the canonical URL from which the key is derived. An entry of another URL with the same MD5
    ///   counts as absent. `nil`, the default, if the key is not derived from a URL.
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

    /// Checks the conditions for a resource without an ETag and a date; see ``holds(forUntagged:)``. Throws 412.
    func check(untagged exists: Bool) throws(Problem) {
        guard exists || creates else { return }
        if !holds(forUntagged: exists) { throw .preconditionFailed }
    }
}

extension Problem {
    /// RFC 9110 §15.5.13.
    static let preconditionFailed = Problem(
        status: 412,
        detail: "If-Match, If-None-Match or If-Unmodified-Since does not match the stored entry, which is unchanged")
}
