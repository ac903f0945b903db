import DiskCache
import HTTPCaching
import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// How an entry's body is answered: whole, in part, or not at all (RFC 9110 §13 and §14).
struct ContentResponse {
    /// What of a request decides how much of the body is sent.
    private static let conditionNames = ConditionalRequest.fieldNames + [.range]
    /// What every answer with a body says, beside what every answer of its route says (``RequestContext``).
    static let acceptRanges = HTTPField(name: .acceptRanges, value: "bytes")

    private let entry: Entry
    private let now: Timestamp
    private let caching: ContentCaching

    /// - Parameter caching: the namespace's. Read it after the entry: a change of it has answers made anew that are
    ///   kept ready of entries that were read before.
    /// - Throws: 404 for an entry that is no longer fresh, unless the caller takes it all the same.
    init(_ entry: Entry, allowsStale: Bool, caching: ContentCaching, at now: Timestamp) throws(Problem) {
        self.entry = entry
        self.now = now
        self.caching = caching
        guard allowsStale || entry.isFresh(at: now) else {
            throw .notFound("the entry expired at \(entry.expiryDate.rfc3339); stale=true serves it all the same")
        }
    }

    /// The answer to a GET or HEAD.
    ///
    /// - Parameters:
    ///   - skipped: how many bytes at the beginning of the body are none of the answer's.
    ///   - type: the media type, instead of the entry's own.
    /// - Throws: 412 and 416.
    func response(
        _ body: StoredBody, skipping skipped: Int = 0, to request: Request, type: String? = nil
    ) throws(Problem) -> Response {
        let bounds = Int64(skipped)..<body.length
        let length = Int64(bounds.count)
        let method: HTTPRequest.Method = request.isHead ? .head : .get
        let current = entry.representation(now: now)
        let requestFields = request.fields(named: Self.conditionNames)
        let conditions = ConditionalRequest(requestFields, method: method, now: now)
        switch conditions.evaluate(current) {
        case .preconditionFailed:
            throw Problem(status: 412, detail: "the body is not the one that the request wants")
        case .notModified:
            // RFC 9110 §15.4.5: it says what the 200 would say of caching.
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
            // §14.2 lets a server answer several ranges with the whole; nobody asks a cache of bodies for several.
            guard parts.count == 1, let part = parts.first else {
                return whole(body, bounds, fields)
            }
            fields[.contentRange] = ContentRange.text(part, length: length)
            let place = (part.lowerBound + bounds.lowerBound)..<(part.upperBound + bounds.lowerBound)
            return Response(status: 206, fields: fields, body: body.part(place))
        case .unsatisfiable:
            throw Problem(
                status: 416, detail: "the body has \(length) bytes",
                fields: [.contentRange: ContentRange.unsatisfied(length: length)])
        }
    }

    private func whole(_ body: StoredBody, _ bounds: Range<Int64>, _ fields: HTTPFields) -> Response {
        Response(status: 200, fields: fields, body: body.part(bounds))
    }

    private var cacheControl: HTTPField {
        HTTPField(name: .cacheControl, value: caching.cacheControl(until: entry.expiryDate, at: now))
    }

    /// What an answer with a body says of it.
    ///
    /// - Parameters:
    ///   - type: the media type; `nil`: it is not known.
    ///   - more: the origin's fields (see ``Entry/contentFields``). A `Content-Type` among them comes before `type`.
    ///   - cacheControl: for how long it may be kept.
    static func fields(
        _ current: SelectedRepresentation, type: String?, more: HTTPFields = [:], _ cacheControl: HTTPField
    ) -> HTTPFields {
        // Each is there once: to look for others first, as setting one does, costs more than the rest.
        var fields = validatorFields(current)
        if !more.contains(.contentType) {
            fields.append(HTTPField(name: .contentType, value: type ?? "application/octet-stream"))
        }
        fields.append(contentsOf: more)
        fields.append(cacheControl)
        fields.append(acceptRanges)
        return fields
    }

    /// The same as ``fields(_:type:more:_:)`` says of a body that is not encoded, prepared.
    ///
    /// - Parameters:
    ///   - cacheControl: for how long it may be kept; `nil`: `common` says it.
    ///   - common: what follows what is said of this body alone.
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
    /// The Cache-Control of ``revalidate``.
    static let revalidation = "no-cache"

    /// The Cache-Control of an answer with a body: without one, caches would guess (RFC 9111 §4.2.2).
    ///
    /// - Parameters:
    ///   - expiry: the entry's.
    ///   - now: when the answer is sent.
    func cacheControl(until expiry: Timestamp, at now: Timestamp) -> String {
        guard self == .untilExpiry, expiry > now else { return Self.revalidation }
        return "max-age=\(min(expiry - now, DeltaSeconds.maximum).milliseconds / 1000)"
    }

    /// When that has to be made anew, because a second less is left; `nil`: not as long as the entry stays as it is.
    func renewal(until expiry: Timestamp, at now: Timestamp) -> Timestamp? {
        guard self == .untilExpiry, expiry > now else { return nil }
        let left = (expiry - now).milliseconds
        return min(expiry, now + .milliseconds(left % 1000 + 1))
    }
}

extension Entry {
    /// The validators of the body as this server hands it out: a strong tag made from the digest, whatever the origin's
    /// is, since the body may have been decoded.
    func representation(now: Timestamp) -> SelectedRepresentation {
        SelectedRepresentation(digestPrefix: digest.prefix(16), lastModified: lastModified, now: now)
    }
}

extension SelectedRepresentation {
    /// What has a body of that digest, of which the origin said when it was last changed.
    init(digestPrefix: some Sequence<UInt8>, lastModified: String?, now: Timestamp) {
        self.init(
            etag: Self.etag(digestPrefix), lastModified: lastModified.flatMap { Timestamp(httpDate: $0, now: now) })
    }

    /// The tag of a body with that digest.
    fileprivate static func etag(_ digestPrefix: some Sequence<UInt8>) -> EntityTag {
        EntityTag(strong: digestPrefix.hex)
    }
}
