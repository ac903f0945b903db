import HTTPTypes
import MicroHTTPD
import Primitives

extension Response {
    /// Forbids caches to store an answer (RFC 9111 §5.2.2.5), because the API's own answers are valid at this moment
    /// only. Bodies of entries and files of the server have other rules (``ContentResponse``, ``PublicFile``).
    static let notStored = HTTPField(name: .cacheControl, value: "no-store")

    /// The text ends with a line feed, for readers on a terminal.
    static func json(_ json: JSON, status: Int = 200, fields: HTTPFields = [:]) -> Response {
        .json(json.utf8, status: status, fields: fields)
    }

    static func json(_ object: consuming JSONObjectWriter) -> Response {
        .json(object.finish(), status: 200, fields: [:])
    }

    private static func json(
        _ utf8: consuming [UInt8], status: Int, fields: HTTPFields, type: String = "application/json"
    ) -> Response {
        utf8.append(UInt8(ascii: "\n"))
        var fields = fields
        fields[.contentType] = type
        fields.append(notStored)
        return Response(status: status, fields: fields, body: .bytes(SharedBytes(utf8)))
    }

    /// RFC 9457 §3. A 503 without `Retry-After` gets one of 1 s.
    static func problem(_ problem: Problem) -> Response {
        var fields = problem.fields
        if problem.status == 503, fields[.retryAfter] == nil { fields[.retryAfter] = "1" }
        return .json(problem.json.utf8, status: problem.status, fields: fields, type: "application/problem+json")
    }

    static func text(_ bytes: [UInt8], type: String) -> Response {
        Response(fields: [.contentType: type, .cacheControl: notStored.value], body: .bytes(SharedBytes(bytes)))
    }
}

extension HTTPFields {
    /// The approximate number of bytes that the fields have on the wire.
    var headLength: Int {
        reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 4 }
    }
}
