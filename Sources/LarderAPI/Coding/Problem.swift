import HTTPTypes
import Primitives

/// An error answer: RFC 9457 problem details. The status says what kind of problem it is (`about:blank`), the members
/// beside it what this one is about.
struct Problem: Error, Sendable {
    var status: Int
    /// What went wrong this time and what to do about it.
    var detail: String
    /// The field to blame: a JSON Pointer (RFC 6901) into the body; for a parameter of the query or the path `/` and
    /// its name.
    var pointer: String?
    /// Members beside the standard ones: `originStatus`, `curlCode`, `limit`.
    var extensions: [JSON.Member] = []
    /// Fields of the answer that say more, such as `Allow`.
    var fields: HTTPFields = [:]

    var json: JSON {
        var members: [JSON.Member] = [
            .init("type", "about:blank"),
            .init("title", .string(title)),
            .init("status", .number(status)),
            .init("detail", .string(shownDetail)),
        ]
        if let pointer { members.append(.init("pointer", .string(pointer))) }
        return .object(members + extensions)
    }

    /// How much of the beginning of ``detail`` is sent, and of its end, in Unicode scalars: in between it may quote
    /// what the request had, at any length.
    private static let shownLimits = (beginning: 1000, end: 500)

    private var shownDetail: String {
        let scalars = detail.unicodeScalars
        guard scalars.count > Self.shownLimits.beginning + Self.shownLimits.end else { return detail }
        return String(scalars.prefix(Self.shownLimits.beginning)) + " … "
            + String(scalars.suffix(Self.shownLimits.end))
    }

    private var title: String {
        switch status {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 416: "Range Not Satisfiable"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 507: "Insufficient Storage"
        default: "Error"
        }
    }

    static func invalid(_ detail: String, pointer: String? = nil) -> Problem {
        Problem(status: 400, detail: detail, pointer: pointer)
    }

    static func notFound(_ detail: String) -> Problem {
        Problem(status: 404, detail: detail)
    }

    static func unsupportedMediaType(_ given: String?, expected: String) -> Problem {
        Problem(
            status: 415,
            detail: (given.map { "\"\($0)\" is not accepted here" } ?? "there is no Content-Type")
                + "; send the body as \(expected)")
    }

    static func tooLarge(limit: Int) -> Problem {
        Problem(
            status: 413, detail: "the body is longer than \(limit) bytes", extensions: [.init("limit", .number(limit))])
    }
}
