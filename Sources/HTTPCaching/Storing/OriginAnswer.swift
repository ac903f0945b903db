import HTTPTypes
import Primitives

/// The head of a final answer. Interim answers (1xx) are never stored and have no ``OriginAnswer``.
package struct OriginAnswer: Hashable, Sendable {
    package var status: Int
    /// Without hop-by-hop fields (RFC 9111 §3.1). They always contain a readable Date.
    package var fields: HTTPFields
    /// RFC 9111 §4.2.3: `request_time`.
    package var requestedAt: Timestamp
    /// RFC 9111 §4.2.3: `response_time`.
    package var receivedAt: Timestamp

    /// The fields are end-to-end. Without a readable Date, the time of receipt becomes the Date (RFC 9110 §6.6.1).
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
