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

        /// Conditions (RFC 9110 §13.2.1, §15.4.5) and ranges (§14.2) apply only to the representation itself.
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

    /// Answers GET or HEAD. `nil` when needed bytes are not available: the request must then go forward (RFC 9111
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
