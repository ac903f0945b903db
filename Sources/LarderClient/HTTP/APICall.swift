import HTTPTypes
import Primitives

/// A call of the API. A value serves for a single call.
package struct APICall: Sendable {
    /// Names and values, not encoded. Names with a `nil` value are left out.
    package typealias Query = [(name: String, value: String?)]

    package enum Body: Sendable {
        case bytes([UInt8], type: String)
        /// `length` bytes, or all bytes up to the end of the open descriptor. The caller closes it.
        case descriptor(Int32, length: Int64?, type: String)

        var type: String {
            switch self {
            case .bytes(_, let type), .descriptor(_, _, let type): type
            }
        }
    }

    package let method: HTTPRequest.Method
    /// The encoded path and query, which follow the server's address.
    package let target: String
    package var fields: HTTPFields
    package var body: Body?

    /// The segments of the path are not encoded: `["entries", key, "content"]`.
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

    package init(_ path: [String], query: Query = [], fields: HTTPFields = [:]) {
        self.init(.get, path, query: query, fields: fields)
    }

    package static func post(_ json: JSON, to path: [String], fields: HTTPFields = [:]) -> APICall {
        APICall(.post, path, fields: fields, body: .bytes(json.utf8, type: "application/json"))
    }
}
