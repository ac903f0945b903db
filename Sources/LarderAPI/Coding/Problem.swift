import HTTPTypes
import Primitives

/// RFC 9457. The status alone defines the kind of problem (`about:blank`). The other members describe this occurrence.
struct Problem: Error, Sendable {
    var status: Int
    /// The cause of this problem, and the way to solve it.
    var detail: String
    /// A JSON Pointer (RFC 6901) into the body, or `/` and the name of a query or path parameter.
    var pointer: String?
    /// `originStatus`, `retryAfter`, `curlCode` and `limit`.
    var extensions: [JSON.Member] = []
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

    /// In Unicode scalars of ``detail``. The middle may quote text of the request, at any length.
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
        case 414: "URI Too Long"
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
            detail: (given.map { "the Content-Type \"\($0)\" is not accepted" } ?? "the Content-Type is missing")
                + "; send the body as \(expected)")
    }

    static func tooLarge(limit: Int) -> Problem {
        Problem(
            status: 413, detail: "the body is longer than \(limit) bytes", extensions: [.init("limit", .number(limit))])
    }
}

extension Problem {
    /// RFC 6750 §3.
    static func challenge(_ error: String?, _ more: String? = nil) -> String {
        (["Bearer realm=\"Larder\"", error.map { "error=\"\($0)\"" }, more] as [String?])
            .compactMap { $0 }.joined(separator: ", ")
    }
}
