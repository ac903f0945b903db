import HTTPTypes
import Primitives

/// A call of the API. A value serves for a single call.
package struct APICall: Sendable {
    /// Names and values, not encoded. Names with a `nil` value are left out.
    package typealias Query = [(name: String, value: String?)]

    /// The content of a request.
    package enum Body: Sendable {
        /// Bytes and their media type.
        case bytes([UInt8], type: String)
        /// The bytes of an open descriptor: `length` bytes, or, when `length` is `nil`, all bytes up to its end. The
        /// caller closes the descriptor.
        case descriptor(Int32, length: Int64?, type: String)

        var type: String {
            switch self {
            case .bytes(_, let type), .descriptor(_, _, let type): type
            }
        }
    }

    /// The method.
    package let method: HTTPRequest.Method
    /// The encoded path and query, which follow the server's address.
    package let target: String
    /// Additional header fields; none by default.
    package var fields: HTTPFields
    /// The content; `nil`, the default: none.
    package var body: Body?

    /// Creates a call.
    ///
    /// - Parameters:
    ///   - path: the segments, not encoded: `["entries", key, "content"]`.
    ///   - query: the query parameters; none by default.
    package init(
        _ method: HTTPRequest.Method, _ path: [String], query: Query = [],
        fields: HTTPFields = [:], body: Body? = nil
    ) {
        self.method = method
        self.fields = fields
        self.body = body
        var parameters = URLParameters()
        for (name, value) in query {
            if let value { parameters.append(name, value) }
        }
        let text = parameters.formEncoded
        target = path.map { "/" + URLPath.escapedSegment($0) }.joined() + (text.isEmpty ? "" : "?" + text)
    }

    /// Creates a `GET` call.
    package init(_ path: [String], query: Query = [], fields: HTTPFields = [:]) {
        self.init(.get, path, query: query, fields: fields)
    }

    /// Creates a `POST` call with JSON.
    package static func post(_ json: JSON, to path: [String], fields: HTTPFields = [:]) -> APICall {
        APICall(.post, path, fields: fields, body: .bytes(json.utf8, type: "application/json"))
    }
}
