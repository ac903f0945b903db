import HTTPCaching
import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// A body that a GET or HEAD selects: sent as a whole, in part, or withheld (RFC 9110 §13 and §14).
struct SelectedBody {
    /// The request fields that decide whether the answer has the whole body, a part or none.
    private static let conditionNames = ConditionalRequest.fieldNames + [.range]

    private let body: StoredBody
    private let bounds: Range<Int64>
    private let current: SelectedRepresentation

    /// `bounds` are the bytes of the body that are sent.
    init(_ body: StoredBody, _ bounds: Range<Int64>, _ current: SelectedRepresentation) {
        self.body = body
        self.bounds = bounds
        self.current = current
    }

    /// `fields` are those of an answer with the body, and `validators` those of a 304 (RFC 9110 §15.4.5). Throws 412
    /// and 416.
    func response(
        to request: Request, at now: Timestamp, fields: HTTPFields, validators: HTTPFields
    ) throws(Problem) -> Response {
        let length = Int64(bounds.count)
        let method: HTTPRequest.Method = request.isHead ? .head : .get
        let requestFields = request.fields(named: Self.conditionNames)
        let conditions = ConditionalRequest(requestFields, method: method, now: now)
        switch conditions.evaluate(current) {
        case .preconditionFailed:
            throw Problem(412, "If-Match or If-Unmodified-Since does not match the stored body")
        case .notModified:
            return Response(status: 304, fields: validators, body: .withheld(length: length))
        case .proceed: break
        }
        let whole = Response(status: 200, fields: fields, body: body.part(bounds))
        guard let ranges = ByteRangeSet(requestFields, method: method),
            conditions.allowsRange(of: current, now: now)
        else { return whole }
        switch ranges.resolve(length: length) {
        case .whole: return whole
        case .parts(let parts):
            // RFC 9110 §14.2 permits the whole body as the answer to several ranges, which clients rarely request.
            guard parts.count == 1, let part = parts.first else { return whole }
            var fields = fields
            fields[.contentRange] = ContentRange.text(part, length: length)
            let place = (part.lowerBound + bounds.lowerBound)..<(part.upperBound + bounds.lowerBound)
            return Response(status: 206, fields: fields, body: body.part(place))
        case .unsatisfiable:
            throw Problem(
                416, "the body has \(length) bytes", fields: [.contentRange: ContentRange.unsatisfied(length: length)])
        }
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
