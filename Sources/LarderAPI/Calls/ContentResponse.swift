import HTTPCaching
import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// The answer with an entry's body: whole, in part, or withheld (RFC 9110 §13 and §14).
struct ContentResponse {
    /// The request fields that decide whether the answer has the whole body, a part or none.
    private static let conditionNames = ConditionalRequest.fieldNames + [.range]
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
        guard allowsStale || entry.isFresh(at: now) else {
            throw .notFound("the entry expired at \(entry.expiryDate.rfc3339); add stale=true to get it")
        }
    }

    /// Returns the answer to a GET or HEAD, without the skipped bytes at the beginning of the body. `type` replaces the
    /// entry's own media type. Throws 412 and 416.
    func response(
        _ body: StoredBody, skipping skipped: Int = 0, to request: Request, type: String? = nil
    ) throws(Problem) -> Response {
        let bounds = Int64(skipped)..<body.length
        let length = Int64(bounds.count)
        let method: HTTPRequest.Method = request.isHead ? .head : .get
        let current = SelectedRepresentation(of: entry, now: now)
        let requestFields = request.fields(named: Self.conditionNames)
        let conditions = ConditionalRequest(requestFields, method: method, now: now)
        switch conditions.evaluate(current) {
        case .preconditionFailed:
            throw Problem(412, "If-Match or If-Unmodified-Since does not match the stored body")
        case .notModified:
            // RFC 9110 §15.4.5: a 304 repeats the caching fields of the 200.
            var fields = Self.validatorFields(current)
            fields.append(cacheControl)
            return Response(status: 304, fields: fields, body: .withheld(length: length))
        case .proceed: break
        }
        var fields = Self.fields(current, type: type ?? entry.contentType, more: entry.contentFields, cacheControl)
        guard let ranges = ByteRangeSet(requestFields, method: method),
            conditions.allowsRange(of: current, now: now)
        else { return whole(body, bounds, fields) }
        switch ranges.resolve(length: length) {
        case .whole: return whole(body, bounds, fields)
        case .parts(let parts):
            // RFC 9110 §14.2 permits the whole body as the answer to several ranges, which clients rarely request.
            guard parts.count == 1, let part = parts.first else {
                return whole(body, bounds, fields)
            }
            fields[.contentRange] = ContentRange.text(part, length: length)
            let place = (part.lowerBound + bounds.lowerBound)..<(part.upperBound + bounds.lowerBound)
            return Response(status: 206, fields: fields, body: body.part(place))
        case .unsatisfiable:
            throw Problem(
                416, "the body has \(length) bytes", fields: [.contentRange: ContentRange.unsatisfied(length: length)])
        }
    }

    private func whole(_ body: StoredBody, _ bounds: Range<Int64>, _ fields: HTTPFields) -> Response {
        Response(status: 200, fields: fields, body: body.part(bounds))
    }

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

extension StoredBody {
    func part(_ range: Range<Int64>) -> Response.Body {
        switch self {
        case .bytes(let bytes):
            range.count == bytes.count
                ? .bytes(bytes) : .slice(bytes, Int(range.lowerBound)..<Int(range.upperBound))
        case .file(let file):
            .file(FileBody(descriptor: file.descriptor, of: file, offset: range.lowerBound, length: Int64(range.count)))
        }
    }
}
