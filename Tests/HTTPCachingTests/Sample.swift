import HTTPTypes
import Primitives

@testable import HTTPCaching

/// Requests and answers for the tables of these tests.
enum Sample {
    /// 2026-01-01T00:00:00Z, the time of receipt of the answers.
    static let now = Timestamp(seconds: 1_767_225_600)
    static let url = "http://origin.example/thing"

    /// The HTTP date `seconds` after ``now``.
    static func date(_ seconds: Int64) -> String { (now + .seconds(seconds)).httpDate }

    /// The fields that the lines of a message state.
    static func fields(_ lines: [String]) -> HTTPFields {
        var fields = HTTPFields()
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts[1].drop { $0 == " " }
            fields.append(HTTPField(name: HTTPField.Name(String(parts[0]))!, value: String(value)))
        }
        return fields
    }

    static func request(
        _ lines: [String] = [], method: HTTPRequest.Method = .get, ttl: Duration? = nil, authorization: String? = nil
    ) -> CacheRequest {
        CacheRequest(
            method: method, url: url, fields: fields(lines), callerTTL: ttl, authorization: authorization)
    }

    /// An answer requested and received `offset` seconds after ``now``. Without a `Date` line, its date is that second.
    static func answer(_ status: Int = 200, _ lines: [String] = [], offset: Int64 = 0) -> OriginAnswer {
        let instant = now + .seconds(offset)
        return OriginAnswer(status: status, fields: fields(lines), requestedAt: instant, receivedAt: instant)
    }

    /// A stored response to a request with the fields `request`, stored even if its own fields forbid that.
    static func stored(_ lines: [String], status: Int = 200, request: [String] = []) -> StoredResponse {
        let answer = answer(status, lines)
        return StoredResponse(
            url: url, status: status, fields: answer.fields, requestedAt: answer.requestedAt,
            receivedAt: answer.receivedAt,
            selection: SelectingFields(vary: answer.fields, request: fields(request))!)
    }
}

extension HTTPFields {
    /// The field lines, in order.
    var lines: [String] { map { "\($0.name.rawName): \($0.value)" } }
}
