import HTTPTypes

/// An answer of the server under test, as received.
package struct HTTPReply: Sendable {
    /// The status code.
    package var status: Int
    /// The reason phrase.
    package var reason: String
    /// Every field line, in order.
    package var fields: HTTPFields = [:]
    /// The status line and the field lines as received, without the empty line.
    package var head: String
    /// The body without its chunk framing, not decoded further.
    package var body: [UInt8] = []
    /// The fields after a chunked body.
    package var trailers: HTTPFields = [:]
    /// The interim (1xx) answers before this answer.
    package var interim: [HTTPReply] = []

    init(status: Int, reason: String, head: String) {
        self.status = status
        self.reason = reason
        self.head = head
    }

    /// The body as text; bytes that are not UTF-8 are replaced.
    package var text: String { String(decoding: body, as: UTF8.self) }

    /// The value of a field, with its lines joined by commas; `nil` when the answer has no such field.
    package subscript(name: String) -> String? {
        HTTPField.Name(name).flatMap { fields[$0] }
    }
}
