import HTTPCaching
import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// The answer with an entry's body, for the API's own callers.
struct ContentResponse {
    static let acceptRanges = HTTPField(name: .acceptRanges, value: "bytes")

    private let entry: Entry
    private let now: Timestamp
    private let caching: ContentCaching

    /// Read the entry first and `caching` second. Then no ready answer keeps an old `caching`, because a change of
    /// `caching` drops the ready answers of all entries that were read before the change.
    init(_ entry: Entry, allowsStale: Bool, caching: ContentCaching, at now: Timestamp) throws(Problem) {
        self.entry = entry
        self.now = now
        self.caching = caching
        guard allowsStale || entry.held || entry.isFresh(at: now) else {
            throw .notFound("the entry expired at \(entry.expiryDate.rfc3339); add stale=true to get it")
        }
    }

    /// Returns the answer to a GET or HEAD, without the skipped bytes at the beginning of the body. `type` replaces the
    /// entry's own media type. Throws 412 and 416.
    func response(
        _ body: StoredBody, skipping skipped: Int = 0, to request: Request, type: String? = nil
    ) throws(Problem) -> Response {
        let current = SelectedRepresentation(of: entry, now: now)
        var validators = Self.validatorFields(current)
        validators.append(cacheControl)
        validators.append(contentsOf: staleness)
        var fields = Self.fields(
            current, type: type ?? entry.contentType, more: entry.contentFields, cacheControl)
        fields.append(contentsOf: staleness)
        return try SelectedBody(body, Int64(skipped)..<body.length, current).response(
            to: request, at: now, fields: fields, validators: validators)
    }

    /// The fields that tell a reader of a stale, held body about its age (RFC 9111 §5.1).
    private var staleness: HTTPFields {
        guard entry.isHeldStale(at: now) else { return [:] }
        let start = entry.downloadEndDate ?? entry.createdDate
        return [.age: String(max((now - start).milliseconds, 0) / 1000), Self.staleName: "1"]
    }

    private static let staleName = HTTPField.Name("Larder-Stale")!

    private var cacheControl: HTTPField {
        HTTPField(name: .cacheControl, value: caching.cacheControl(until: entry.expiryDate, at: now))
    }

    /// The fields of an answer with a body. `more` has the origin's fields (see ``Entry/contentFields``); a
    /// `Content-Type` among them takes precedence over `type`.
    static func fields(
        _ current: SelectedRepresentation, type: String?, more: HTTPFields = [:], _ cacheControl: HTTPField
    ) -> HTTPFields {
        // Each field occurs once, so each is appended without a search for an earlier one, which would be slow.
        var fields = validatorFields(current)
        if !more.contains(.contentType) {
            fields.append(HTTPField(name: .contentType, value: type ?? "application/octet-stream"))
        }
        fields.append(contentsOf: more)
        fields.append(cacheControl)
        fields.append(acceptRanges)
        return fields
    }

    /// The same fields as ``fields(_:type:more:_:)`` for a body that is not encoded, in prepared form. The fields in
    /// `common`, which do not depend on this body, come last; `cacheControl` is `nil` if `common` contains it.
    static func preparedFields(
        digestPrefix: [UInt8], lastModified: String?, type: String?, cacheControl: String? = nil,
        _ common: PreparedFields, now: Timestamp
    ) -> PreparedFields {
        var fields = PreparedFields()
        fields.append("ETag", SelectedRepresentation.etag(digestPrefix).text)
        if let date = lastModified.flatMap({ Timestamp(httpDate: $0, now: now) }) {
            fields.append("Last-Modified", date.httpDate)
        }
        fields.append("Content-Type", type ?? "application/octet-stream")
        if let cacheControl { fields.append("Cache-Control", cacheControl) }
        fields.append(common)
        return fields
    }

    private static func validatorFields(_ current: SelectedRepresentation) -> HTTPFields {
        var fields = HTTPFields()
        if let etag = current.etag { fields.append(HTTPField(name: .eTag, value: etag.text)) }
        if let date = current.lastModified { fields.append(HTTPField(name: .lastModified, value: date.httpDate)) }
        return fields
    }
}

extension Entry {
    /// Whether readers get the entry although it is stale, because a subscription holds it.
    func isHeldStale(at now: Timestamp) -> Bool { held && !isFresh(at: now) }
}

extension ContentCaching {
    /// The `Cache-Control` of ``revalidate``.
    static let revalidation = "no-cache"

    /// Returns the Cache-Control of an answer with a body. Otherwise caches would use heuristics (RFC 9111 §4.2.2).
    func cacheControl(until expiry: Timestamp, at now: Timestamp) -> String {
        guard self == .untilExpiry, expiry > now else { return Self.revalidation }
        return "max-age=\(min(expiry - now, DeltaSeconds.maximum).milliseconds / 1000)"
    }

    /// The time from which `max-age` is a second less; `nil` if the Cache-Control does not depend on the time.
    func renewal(until expiry: Timestamp, at now: Timestamp) -> Timestamp? {
        guard self == .untilExpiry, expiry > now else { return nil }
        let left = (expiry - now).milliseconds
        return min(expiry, now + .milliseconds(left % 1000 + 1))
    }
}
