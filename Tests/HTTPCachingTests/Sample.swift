import HTTPTypes
import Primitives

@testable import HTTPCaching

/// Requests and answers for the tables of these tests.
enum Sample {
    /// 2026-01-01T00:00:00Z, when every answer here comes.
    static let now = Timestamp(seconds: 1_767_225_600)
    static let url = "http://origin.example/thing"

    /// The date that many seconds after ``now``, as a field states it.
    static func date(_ seconds: Int64) -> String { (now + .seconds(seconds)).httpDate }

    /// Fields from lines as they stand in a message.
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

    /// An answer that was asked for and came at ``now`` plus `offset` seconds, made in that second.
    static func answer(_ status: Int = 200, _ lines: [String] = [], offset: Int64 = 0) -> OriginAnswer {
        let instant = now + .seconds(offset)
        return OriginAnswer(status: status, fields: fields(lines), requestedAt: instant, receivedAt: instant)
    }

    /// A response that is stored whatever it says of that, as the answer to a plain request.
    static func stored(_ lines: [String], status: Int = 200, request: [String] = []) -> StoredResponse {
        let answer = answer(status, lines)
        return StoredResponse(
            url: url, status: status, fields: answer.fields, requestedAt: answer.requestedAt,
            receivedAt: answer.receivedAt,
            selection: SelectingFields(vary: answer.fields, request: fields(request))!)
    }
}

extension HTTPFields {
    /// Every line, in order.
    var lines: [String] { map { "\($0.name.rawName): \($0.value)" } }
}
