import HTTPTypes
import MicroHTTPD
import Primitives

extension Response {
    /// What the API says of its own answers: they are right at this moment only, so no cache keeps them (RFC 9111
    /// §5.2.2.5). Bodies of entries and files of the server say something else (``ContentResponse``, ``PublicFile``).
    static let notStored = HTTPField(name: .cacheControl, value: "no-store")

    /// A JSON answer, with a line feed at its end for those who read it on a terminal.
    static func json(_ json: JSON, status: Int = 200, fields: HTTPFields = [:]) -> Response {
        .json(json.utf8, status: status, fields: fields)
    }

    /// A JSON answer that is text already: for a long one.
    static func json(_ object: consuming JSONObjectWriter) -> Response {
        .json(object.finish(), status: 200, fields: [:])
    }

    private static func json(_ utf8: consuming [UInt8], status: Int, fields: HTTPFields) -> Response {
        utf8.append(UInt8(ascii: "\n"))
        var fields = fields
        fields[.contentType] = "application/json"
        fields.append(notStored)
        return Response(status: status, fields: fields, body: .bytes(SharedBytes(utf8)))
    }

    /// An error answer (RFC 9457 §3).
    static func problem(_ problem: Problem) -> Response {
        var bytes = problem.json.utf8
        bytes.append(UInt8(ascii: "\n"))
        var fields = problem.fields
        fields[.contentType] = "application/problem+json"
        fields.append(notStored)
        if problem.status == 503, fields[.retryAfter] == nil { fields[.retryAfter] = "1" }
        return Response(status: problem.status, fields: fields, body: .bytes(SharedBytes(bytes)))
    }

    /// A text answer.
    static func text(_ bytes: [UInt8], type: String, status: Int = 200) -> Response {
        Response(
            status: status, fields: [.contentType: type, .cacheControl: notStored.value],
            body: .bytes(SharedBytes(bytes)))
    }
}
