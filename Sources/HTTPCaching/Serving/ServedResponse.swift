import HTTPTypes
import Primitives

/// What a client gets of a stored answer: the status, the fields, and which bytes of the body (RFC 9111 §4, §4.3.2;
/// RFC 9110 §13, §14).
///
/// That the stored answer may be used at all has been decided before. Larder is a gateway, so it answers all conditions
/// as its origin would (RFC 9110 §3.7), If-Match and If-Unmodified-Since too.
public struct ServedResponse: Hashable, Sendable {
    /// What is held of an answer.
    public struct Stored: Hashable, Sendable {
        /// The status code.
        public var status: Int
        /// The fields that may be stored; see ``HTTPTypes/HTTPFields/endToEnd()``.
        public var fields: HTTPFields
        /// The length of the whole body.
        public var length: Int64
        /// The bytes that there are of a body that came in parts, with 206; `nil`: the whole.
        public var available: ByteCoverage?

        /// An answer; by default one that is held whole.
        public init(status: Int, fields: HTTPFields, length: Int64, available: ByteCoverage? = nil) {
            self.status = status
            self.fields = fields
            self.length = length
            self.available = available
        }

        /// Whether it is the representation itself: to these statuses conditions (RFC 9110 §13.2.1, §15.4.5) and
        /// ranges (§14.2) apply.
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

    /// What is sent of the body.
    public enum Body: Hashable, Sendable {
        /// Nothing.
        case none
        /// All of it.
        case whole
        /// One part.
        case range(Range<Int64>)
        /// Several parts.
        case multipart(MultipartByteranges)
    }

    /// The status code.
    public let status: Int
    /// The fields. Their Content-Length is that of what is sent, and for HEAD of what GET would be sent.
    public let fields: HTTPFields
    /// What is sent of the body.
    public let body: Body

    /// The answer to a GET or HEAD. `nil` when bytes are missing that it needs: then the request must go forward
    /// (RFC 9111 §3.3).
    ///
    /// - Parameters:
    ///   - request: the fields of the request.
    ///   - age: how old the stored answer is (RFC 9111 §4.2.3); negative counts as zero.
    ///   - now: for two-digit years; see `Timestamp(httpDate:now:)`.
    ///   - validates: whether the request's conditions are still to be looked at; `false` when the origin has done so.
    ///     If-Range is looked at all the same.
    ///   - boundary: asked for when there are several parts; see
    ///     ``MultipartByteranges/init(ranges:completeLength:contentType:boundary:)``.
    public init?(
        to method: HTTPRequest.Method, _ request: HTTPFields, from stored: Stored, age: Duration, now: Timestamp,
        validates: Bool = true, boundary: @autoclosure () -> String
    ) {
        let age = String(min(max(0, age.components.seconds), DeltaSeconds.maximum.components.seconds))
        var resolution = ByteRangeSet.Resolution.whole
        var outcome = ConditionalRequest.Outcome.proceed
        // Most requests ask for nothing of the kind, and reading dates costs more than the rest.
        if stored.isRepresentation, Self.asking.contains(where: request.contains) {
            let conditions = ConditionalRequest(request, method: method, now: now)
            let current = SelectedRepresentation(of: stored.fields, now: now)
            if conditions.allowsRange(of: current, now: now), let ranges = ByteRangeSet(request, method: method) {
                resolution = ranges.resolve(length: stored.length)
            }
            if validates {
                outcome = conditions.evaluate(current)
            }
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
                // It is about the parts that the whole was put together from; on a 200 it means nothing (RFC 9110
                // §14.4), and passes like any field that is not known.
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
                    // RFC 9110 §15.3.7.2: Content-Range is in the parts only.
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

    /// How many fields may be added to those that are stored: Content-Length and Age, and by the gateway Cache-Status
    /// and Via.
    private static let addedCount = 4

    /// The fields by which a request asks for something else than the whole.
    private static let asking = ConditionalRequest.fieldNames + [.range]
}

extension SelectedRepresentation {
    /// The validators of a stored answer. Its date is a strong one when the answer was made at least a second later, by
    /// the origin's own clock (RFC 9110 §8.8.2.2).
    fileprivate init(of fields: HTTPFields, now: Timestamp) {
        let validators = Validators(fields)
        let modified = validators.lastModified.flatMap { Timestamp(httpDate: $0, now: now) }
        let made = fields[values: .date].first.flatMap { Timestamp(httpDate: $0, now: now) }
        self.init(
            etag: validators.etag, lastModified: modified,
            isLastModifiedStrong: StrongValidators.isStrong(lastModified: modified, madeAt: made),
            // RFC 9111 §4.3.2: for a field that is missing, not for one that cannot be read.
            madeAt: fields.contains(.lastModified) ? nil : made)
    }
}
