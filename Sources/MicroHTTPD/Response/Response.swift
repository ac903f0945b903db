import CMicroHTTPD
import HTTPTypes
import Primitives
import Synchronization

/// An answer. It never changes, and may be sent any number of times, by several threads at once: the object that
/// libmicrohttpd needs to send it is made once, at the first use. (A ``Body/stream(_:length:)`` can be sent once.)
///
/// libmicrohttpd writes `Date`, `Content-Length`, `Transfer-Encoding` and the reason phrase. No body is sent to `HEAD`,
/// nor with 204 and 304. For `HEAD` and 304 the `Content-Length` is that of the given body, so give a 304 the body of
/// the 200, or ``Body/withheld(length:)``.
package final class Response: Sendable {
    package enum Body: Sendable {
        /// No body; `Content-Length: 0`.
        case empty
        /// Bytes, which are not copied.
        case bytes(SharedBytes)
        /// A range of bytes, which are not copied either.
        case slice(SharedBytes, Range<Int>)
        /// A file, or a part of it. A file of up to 256 KiB is read before the answer starts. A larger file is read as
        /// it goes out, and so is a file for which ``DaemonConfiguration/answerMemoryLimit`` leaves no room. Its blocks
        /// have 64 KiB, or 8 KiB if there is no room for a block either (512 bytes less, to be exact). If the file is
        /// shorter than it should be, the connection breaks off.
        case file(FileBody)
        /// A body that is produced while it is sent. `length` is its length, `nil` if unknown: then the body is
        /// chunked, or ends with the connection for a client of HTTP/1.0.
        case stream(ResponseStream, length: Int64?)
        /// A body that is never sent, for an answer to `HEAD` or a 304 whose body is not at hand. As the answer to any
        /// other request it breaks the connection off.
        case withheld(length: Int64)
    }

    /// The status code, 200 to 999.
    package let status: Int
    /// The fields as they were given; of prepared fields, the fields that may be sent.
    package var fields: HTTPFields {
        switch head {
        case .fields(let fields): fields
        case .prepared(let prepared): prepared.fields
        }
    }
    package let body: Body

    /// The fields of the head, as given or prepared.
    enum Head: Sendable {
        case fields(HTTPFields)
        case prepared(PreparedFields)
    }

    /// The fields, in the form in which they were given.
    let head: Head

    /// The address of the object that ``shared`` has made, with one reference held by this response; 0 before.
    private let made = Atomic<Int>(0)

    /// An answer with this status (200 by default), these fields, in this order, and this body (none by default).
    ///
    /// Invalid fields are left out: a name that is not a token, and a value with a control character other than tab.
    /// Fields that the caller may not set are left out, too: `Content-Length`, `Transfer-Encoding`, and all options of
    /// `Connection` but `close`. A status outside of 200...999 is a programmer error.
    package convenience init(status: Int = 200, fields: HTTPFields = [:], body: Body = .empty) {
        self.init(status: status, head: .fields(fields), body: body)
    }

    /// An answer with this status (200 by default), prepared fields, and this body.
    package convenience init(status: Int = 200, fields: PreparedFields, body: Body) {
        self.init(status: status, head: .prepared(fields), body: body)
    }

    private init(status: Int, head: Head, body: Body) {
        precondition((200...999).contains(status), "\(status) is not a final status code")
        if case .slice(let bytes, let range) = body {
            precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count, "the slice is outside of its bytes")
        }
        self.status = status
        self.head = head
        self.body = body
    }

    deinit {
        if let handle = OpaquePointer(bitPattern: made.load(ordering: .acquiring)) { MHD_destroy_response(handle) }
    }

    /// libmicrohttpd's object for a body that can be sent more than once; `nil` for other bodies, and if there is no
    /// memory for the object. libmicrohttpd counts the references to it and reads it under its own lock, from any
    /// number of threads.
    var shared: OpaquePointer? { OpaquePointer(bitPattern: made.load(ordering: .acquiring)) ?? make() }

    /// Makes the object. If several threads make it at once, the first object stays.
    private func make() -> OpaquePointer? {
        guard let handle = Self.makeShareable(body) else { return nil }
        Self.add(head, to: handle, closing: false)
        let (isFirst, other) = made.compareExchange(
            expected: 0, desired: Int(bitPattern: handle), ordering: .acquiringAndReleasing)
        if isFirst { return handle }
        MHD_destroy_response(handle)
        return OpaquePointer(bitPattern: other)
    }
}
