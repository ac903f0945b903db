import HTTPTypes
import Primitives

/// The head of a final answer. Interim ones (1xx) are never stored and have no place here.
public struct OriginAnswer: Hashable, Sendable {
    /// The status code, from 200.
    public var status: Int
    /// The fields, without those that end at this hop (RFC 9111 §3.1); there is always a Date that can be read.
    public var fields: HTTPFields
    /// When the request was sent (RFC 9111 §4.2.3: `request_time`).
    public var requestedAt: Timestamp
    /// When the answer came (RFC 9111 §4.2.3: `response_time`).
    public var receivedAt: Timestamp

    /// An answer. One without a Date that can be read gets that of its receipt (RFC 9110 §6.6.1).
    ///
    /// - Parameter fields: those that are end-to-end.
    public init(status: Int, fields: HTTPFields, requestedAt: Timestamp, receivedAt: Timestamp) {
        self.status = status
        self.fields = fields
        self.requestedAt = requestedAt
        self.receivedAt = receivedAt
        if FreshnessLifetime.date(of: fields, receivedAt: receivedAt) == nil {
            self.fields[.date] = receivedAt.httpDate
        }
    }
}
