import HTTPTypes
import Primitives

/// The head of a final answer. Interim answers (1xx) are never stored and have no ``OriginAnswer``.
package struct OriginAnswer: Hashable, Sendable {
    /// The status code, at least 200.
    package var status: Int
    /// The fields, without hop-by-hop fields (RFC 9111 §3.1). They always contain a readable Date.
    package var fields: HTTPFields
    /// The time at which the request was sent (RFC 9111 §4.2.3: `request_time`).
    package var requestedAt: Timestamp
    /// The time at which the answer arrived (RFC 9111 §4.2.3: `response_time`).
    package var receivedAt: Timestamp

    /// Creates an answer. Without a readable Date, the time of receipt becomes its Date (RFC 9110 §6.6.1).
    ///
    /// - Parameter fields: the end-to-end fields.
    package init(status: Int, fields: HTTPFields, requestedAt: Timestamp, receivedAt: Timestamp) {
        self.status = status
        self.fields = fields
        self.requestedAt = requestedAt
        self.receivedAt = receivedAt
        if FreshnessLifetime.date(of: fields, receivedAt: receivedAt) == nil {
            self.fields[.date] = receivedAt.httpDate
        }
    }

    package var freshness: Freshness {
        Freshness(status, fields, requestedAt: requestedAt, receivedAt: receivedAt)
    }
}
