import HTTPTypes

/// An answer of the server under test, as it came.
public struct HTTPReply: Sendable {
    /// The status code.
    public var status: Int
    /// The words after it.
    public var reason: String
    /// Every field line, in order.
    public var fields: HTTPFields = [:]
    /// The status line and the field lines as they came, without the empty line.
    public var head: String
    /// The body, without chunk framing, not decoded further.
    public var body: [UInt8] = []
    /// The fields after a chunked body.
    public var trailers: HTTPFields = [:]
    /// The 1xx answers before it.
    public var interim: [HTTPReply] = []

    init(status: Int, reason: String, head: String) {
        self.status = status
        self.reason = reason
        self.head = head
    }

    /// The body as text; bytes that are not UTF-8 are replaced.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The value of a field, lines joined with a comma; `nil` when there is none.
    public subscript(name: String) -> String? {
        HTTPField.Name(name).flatMap { fields[$0] }
    }
}
