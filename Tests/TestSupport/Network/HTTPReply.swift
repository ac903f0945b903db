import HTTPTypes

/// An answer of the server under test, as received.
public struct HTTPReply: Sendable {
    /// The status code.
    public var status: Int
    /// The reason phrase.
    public var reason: String
    /// Every field line, in order.
    public var fields: HTTPFields = [:]
    /// The status line and the field lines as received, without the empty line.
    public var head: String
    /// The body without its chunk framing, not decoded further.
    public var body: [UInt8] = []
    /// The fields after a chunked body.
    public var trailers: HTTPFields = [:]
    /// The interim (1xx) answers before this answer.
    public var interim: [HTTPReply] = []

    init(status: Int, reason: String, head: String) {
        self.status = status
        self.reason = reason
        self.head = head
    }

    /// The body as text; bytes that are not UTF-8 are replaced.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The value of a field, with its lines joined by commas; `nil` when the answer has no such field.
    public subscript(name: String) -> String? {
        HTTPField.Name(name).flatMap { fields[$0] }
    }
}
