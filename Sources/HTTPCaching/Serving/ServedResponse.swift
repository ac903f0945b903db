import HTTPTypes
import Primitives

/// The answer to a client from a stored response (RFC 9111 §4, §4.3.2; RFC 9110 §13, §14). ``ReusePolicy`` has already
/// decided that the stored response may be used. Larder is a gateway, so it evaluates all conditions as the origin
/// would (RFC 9110 §3.7), including If-Match and If-Unmodified-Since.
package struct ServedResponse: Hashable, Sendable {
    package struct Stored: Hashable, Sendable {
        package var status: Int
        /// End-to-end; see ``HTTPFields/endToEnd()``.
        package var fields: HTTPFields
        package var length: Int64
        /// The available bytes of a body that came in parts, with 206; `nil` when the body is complete.
        package var available: ByteCoverage?

        package init(status: Int, fields: HTTPFields, length: Int64, available: ByteCoverage? = nil) {
            self.status = status
            self.fields = fields
            self.length = length
            self.available = available
        }

        /// Conditions (RFC 9110 §13.2.1, §15.4.5) and ranges (§14.2) do not apply to a redirect or an error.
        fileprivate var isRepresentation: Bool { status == 200 || available != nil }

        fileprivate func holds(_ resolution: ByteRangeSet.Resolution) -> Bool {
            guard let available else { return true }
            return switch resolution {
            case .whole: available.isComplete(length: length)
            case .parts(let parts): parts.allSatisfy(available.contains)
            case .unsatisfiable: true
            }
        }
    }

    package enum Body: Hashable, Sendable {
        case none
        case whole
        case range(Range<Int64>)
        case multipart(MultipartByteranges)
    }

    package let status: Int
    /// Content-Length is the length of the sent content; for HEAD, of the content that GET would get.
    package let fields: HTTPFields
    package let body: Body

    /// Answers GET or HEAD. `nil` when needed bytes are not available: the request must then go to the origin (RFC 9111
    /// §3.3). A negative `age` counts as zero. `now`: see `Timestamp(httpDate:now:)`. `validates` is `false` when the
    /// origin has evaluated the conditions; If-Range is evaluated in any case. `boundary` is called only for several
    /// parts; see ``MultipartByteranges/init(ranges:completeLength:contentType:boundary:)``.
    package init?(
        to method: HTTPRequest.Method, _ request: HTTPFields, from stored: Stored, age: Duration, now: Timestamp,
        validates: Bool = true, boundary: @autoclosure () -> String
    ) {
        let age = String(min(max(0, age.components.seconds), DeltaSeconds.maximum.components.seconds))
        var resolution = ByteRangeSet.Resolution.whole
        var outcome = ConditionalRequest.Outcome.proceed
        // Most requests have none of these fields, and reading dates costs more than the rest of this function.
        if stored.isRepresentation, Self.asking.contains(where: request.contains) {
            let conditions = ConditionalRequest(request, method: method, now: now)
            let current = SelectedRepresentation(of: stored.fields, now: now)
            if conditions.allowsRange(of: current, now: now), let ranges = ByteRangeSet(request, method: method) {
                resolution = ranges.resolve(length: stored.length)
            }
            if validates { outcome = conditions.evaluate(current) }
        }
        guard stored.holds(resolution) else { return nil }

        var fields: HTTPFields
        switch outcome {
        case .notModified:
            fields = stored.fields.ofNotModified()
            (status, body) = (304, .none)
        case .preconditionFailed:
            fields = stored.fields.ofError()
            (status, body) = (412, .none)
        case .proceed:
            switch resolution {
            case .whole:
                fields = stored.fields
                fields.reserveCapacity(fields.count + Self.addedCount)
                // A Content-Range has no meaning on a 200 (RFC 9110 §14.4), but the next recipient would forward it.
                if stored.available != nil { fields.set(.contentRange, to: nil) }
                // RFC 9110 §8.6: a 204 has no Content-Length.
                fields.set(.contentLength, to: stored.status == 204 ? nil : String(stored.length))
                status = stored.available == nil ? stored.status : 200
                body = method == .head || stored.status == 204 ? .none : .whole
            case .unsatisfiable:
                fields = stored.fields.ofError()
                fields[.contentRange] = ContentRange.unsatisfied(length: stored.length)
                (status, body) = (416, .none)
            case .parts(let parts):
                fields = stored.fields.ofPart(clientHasOthers: request.contains(.ifRange))
                status = 206
                if parts.count == 1 {
                    fields[.contentRange] = ContentRange.text(parts[0], length: stored.length)
                    fields[.contentLength] = String(parts[0].count)
                    body = .range(parts[0])
                } else {
                    let multipart = MultipartByteranges(
                        ranges: parts, completeLength: stored.length,
                        contentType: stored.fields[fields: .contentType].first, boundary: boundary())
                    // RFC 9110 §15.3.7.2: only the parts have a Content-Range.
                    fields[.contentRange] = nil
                    fields[.contentType] = multipart.contentType
                    fields[.contentLength] = String(multipart.contentLength)
                    body = .multipart(multipart)
                }
            }
        }
        fields[.age] = age
        self.fields = fields
    }

    /// The number of added fields: Content-Length and Age here, Cache-Status and Via by the gateway.
    private static let addedCount = 4
    /// With these fields a request may get another answer than the whole response.
    private static let asking = ConditionalRequest.fieldNames + [.range]
}

/// Selects the fields of a stored answer for an answer with another status.
extension HTTPFields {
    /// The fields for a 304 (RFC 9110 §15.4.5), with targeted Cache-Control. Last-Modified is sent only without ETag.
    func ofNotModified() -> HTTPFields {
        let hasTag = contains(.eTag)
        return filter { field in
            switch field.name {
            case .cacheControl, .cdnCacheControl, .larderCacheControl, .contentLocation, .date, .eTag, .expires, .vary:
                true
            case .lastModified: !hasTag
            default: false
            }
        }
    }

    /// The fields for a 412 or 416 made by Larder.
    func ofError() -> HTTPFields {
        var fields = filter { field in
            switch field.name {
            case .date, .eTag, .vary: true
            default: false
            }
        }
        fields[.contentLength] = "0"
        return fields
    }

    /// The fields of a 206 that do not depend on the range (RFC 9110 §15.3.7): all fields about the representation, but
    /// no digest of the content of the stored message (RFC 9530 §2). A client that sent If-Range has the metadata: it
    /// gets no Content-Encoding, Content-Language and Content-Type, and no Last-Modified beside an entity tag.
    func ofPart(clientHasOthers: Bool) -> HTTPFields {
        let hasTag = contains(.eTag)
        return filter { field in
            switch field.name {
            case .contentDigest, .contentMD5: false
            case .contentEncoding, .contentLanguage, .contentType: !clientHasOthers
            case .lastModified: !clientHasOthers || !hasTag
            default: true
            }
        }
    }
}

extension HTTPFields {
    /// Makes `value` the only line of a field; `nil` removes the field. Does not copy the fields when the field already
    /// has this value. `value` must be ASCII, because values are compared as text.
    mutating func set(_ name: HTTPField.Name, to value: String?) {
        var lines = 0
        var isSame = true
        for field in self where field.name == name {
            lines += 1
            isSame = isSame && field.value == value
        }
        if lines == (value == nil ? 0 : 1), isSame { return }
        self[name] = value
    }
}

extension HTTPField.Name {
    /// The digest of the content of the message that carries the field (RFC 9530 §2).
    static let contentDigest = Self("Content-Digest")!
    fileprivate static let contentMD5 = Self("Content-MD5")!
}

/// The field Via (RFC 9110 §7.6.3): a gateway must add itself to forwarded requests, and may add itself to answers.
package enum Via {
    /// Appends Larder behind earlier recipients. `version` is that of the received message, such as `1.1` or `2`.
    package static func append(to fields: inout HTTPFields, version: String = "1.1") {
        fields.append(HTTPField(name: .via, value: "\(version) larder"))
    }
}

/// Larder's handling of a request, as reported to the client (RFC 9211), such as `larder; hit; ttl=545` or
/// `larder; fwd=stale; fwd-status=304; stored; ttl=60`.
package struct CacheStatus: Hashable, Sendable {
    package enum Source: Hashable, Sendable {
        /// The request did not go to the origin (RFC 9211 §2.1).
        case hit
        /// The request went to the origin (RFC 9211 §2.2).
        case forwarded(ForwardReason)
        /// The request accepted no stored response, and forbade to ask the origin (`only-if-cached`).
        case refused
    }

    package var source: Source
    /// The origin's status when it differs from the status of this answer; otherwise `nil` (RFC 9211 §2.3).
    package var forwardStatus: Int?
    /// The time until the answer becomes stale; negative when it is stale, `nil` to omit it (RFC 9211 §2.4).
    package var ttl: Duration?
    package var isStored = false
    /// `true`: the request got another request's answer; `false`: it waited in vain; `nil`: no wait (RFC 9211 §2.6).
    package var isCollapsed: Bool?
    /// The key of the stored answer; `nil` to omit it (RFC 9211 §2.7).
    package var key: String?
    /// A remark in Larder's own words; `nil` to omit it (RFC 9211 §2.8).
    package var detail: String?

    package init(_ source: Source) {
        self.source = source
    }

    /// A hit omits the parameters that only apply to a forwarded request.
    package var text: String {
        var text = "larder"
        text.reserveCapacity(128)
        switch source {
        case .refused:
            break
        case .hit:
            text += "; hit"
        case .forwarded(let reason):
            text += "; fwd="
            text += reason.rawValue
            if let forwardStatus { text += "; fwd-status=\(forwardStatus)" }
            if isStored { text += "; stored" }
            if let isCollapsed { text += isCollapsed ? "; collapsed" : "; collapsed=?0" }
        }
        if let ttl {
            text += "; ttl="
            text += String(Self.wholeSeconds(ttl))
        }
        if let key {
            text += "; key="
            Self.append(string: key, to: &text)
        }
        if let detail {
            text += "; detail="
            if Self.isToken(detail) { text += detail } else { Self.append(string: detail, to: &text) }
        }
        return text
    }

    /// Appends this member behind the members of caches that are nearer to the origin (RFC 9211 §2).
    package func append(to fields: inout HTTPFields) {
        fields.append(HTTPField(name: .cacheStatus, value: text))
    }

    /// Rounds down, so that an answer that has been stale for less than a second does not look fresh.
    private static func wholeSeconds(_ duration: Duration) -> Int64 {
        let (seconds, rest) = duration.components
        let floor = rest < 0 ? seconds - 1 : seconds
        // RFC 8941 §3.3.1: an integer has at most 15 digits.
        return max(-999_999_999_999_999, min(floor, 999_999_999_999_999))
    }

    /// A string of RFC 8941 §3.3.3 holds visible ASCII and spaces, so any other byte is percent-encoded.
    private static func append(string: String, to text: inout String) {
        text += "\""
        if string.utf8.allSatisfy(isPlain) {
            text += string
        } else {
            for byte in string.utf8 {
                if isPlain(byte) {
                    text.unicodeScalars.append(Unicode.Scalar(byte))
                } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                    text += "\\\(Unicode.Scalar(byte))"
                } else {
                    text += "%\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))"
                }
            }
        }
        text += "\""
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        0x20...0x7E ~= byte && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// Whether the text is a token of both RFC 8941 §3.3.4 and RFC 9110 §5.6.2.
    private static func isToken(_ text: String) -> Bool {
        var scanner = FieldScanner(text)
        guard let first = text.utf8.first, scanner.token() != nil, scanner.isAtEnd else { return false }
        return first == UInt8(ascii: "*") || Unicode.Scalar(first).properties.isAlphabetic
    }
}

extension HTTPField.Name {
    package static let cacheStatus = Self("Cache-Status")!
}
