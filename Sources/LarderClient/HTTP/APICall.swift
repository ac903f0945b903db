import HTTPTypes
import Primitives

/// One call of the API, to be made once.
public struct APICall: Sendable {
    /// Names and values, not encoded; those without a value are left out.
    public typealias Query = [(name: String, value: String?)]

    /// The content of a request.
    public enum Body: Sendable {
        /// Bytes, and their media type.
        case bytes([UInt8], type: String)
        /// What can be read from an open descriptor, which stays the caller's: as many bytes as `length` says, or, when
        /// that is not known, up to its end.
        case descriptor(Int32, length: Int64?, type: String)

        var type: String {
            switch self {
            case .bytes(_, let type), .descriptor(_, _, let type): type
            }
        }
    }

    /// The method.
    public let method: HTTPRequest.Method
    /// Path and query as they follow the server's address, encoded.
    public let target: String
    /// Fields beside those that every call has; none by default.
    public var fields: HTTPFields
    /// The content; `nil`, the default, for none.
    public var body: Body?

    /// A call.
    ///
    /// - Parameters:
    ///   - path: its segments, not encoded: `["entries", key, "content"]`.
    ///   - query: what comes behind it; nothing by default.
    public init(
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

    /// A `GET`.
    public init(_ path: [String], query: Query = [], fields: HTTPFields = [:]) {
        self.init(.get, path, query: query, fields: fields)
    }

    /// A `POST` of JSON.
    public static func post(_ json: JSON, to path: [String], fields: HTTPFields = [:]) -> APICall {
        APICall(.post, path, fields: fields, body: .bytes(json.utf8, type: "application/json"))
    }
}
