import CMicroHTTPD
import HTTPTypes
import Primitives
import Synchronization

/// An answer. It never changes, and may be sent any number of times, by several threads at once, except with a
/// ``Body/stream(_:length:)``. libmicrohttpd's object for it is made once, at the first use.
///
/// libmicrohttpd writes `Date`, `Content-Length`, `Transfer-Encoding` and the reason phrase. No body is sent to `HEAD`,
/// nor with 204 and 304. For `HEAD` and 304 the `Content-Length` is that of the given body, so give a 304 the body of
/// the 200, or ``Body/withheld(length:)``.
package final class Response: Sendable {
    package enum Body: Sendable {
        /// Sends `Content-Length: 0`.
        case empty
        case bytes(SharedBytes)
        case slice(SharedBytes, Range<Int>)
        /// A file of up to 256 KiB is read before the answer starts. A larger file is read as it goes out, and so is a
        /// file for which ``DaemonConfiguration/answerMemoryLimit`` leaves no room: in blocks of 64 KiB, or 8 KiB
        /// without room for a block (512 bytes less, to be exact). If the file is too short, the connection breaks off.
        case file(FileBody)
        /// If `length` is `nil`, the body is chunked, or ends with the connection for a client of HTTP/1.0.
        case stream(ResponseStream, length: Int64?)
        /// For `HEAD`, or a 304, without the body at hand. In any other answer it breaks the connection off.
        case withheld(length: Int64)
    }

    package let status: Int
    /// As they were given; of prepared fields, the fields that may be sent.
    package var fields: HTTPFields {
        switch head {
        case .fields(let fields): fields
        case .prepared(let prepared): prepared.fields
        }
    }
    package let body: Body

    enum Head: Sendable {
        case fields(HTTPFields)
        case prepared(PreparedFields)
    }

    let head: Head

    /// The address of the object that ``shared`` has made, with one reference held by this response; 0 before.
    private let made = Atomic<Int>(0)

    /// Leaves out invalid fields: a name that is not a token, and a value with a control character other than tab.
    /// Leaves out, too, fields that the caller may not set: `Content-Length`, `Transfer-Encoding`, and all options of
    /// `Connection` but `close`. A status outside of 200...999 is a programmer error.
    package convenience init(status: Int = 200, fields: HTTPFields = [:], body: Body = .empty) {
        self.init(status: status, head: .fields(fields), body: body)
    }

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

    /// `nil` for a body that can be sent only once, and if there is no memory for the object. libmicrohttpd counts the
    /// references to it and reads it under its own lock, from any number of threads.
    var shared: OpaquePointer? { OpaquePointer(bitPattern: made.load(ordering: .acquiring)) ?? make() }

    /// If several threads make the object at once, the first object stays.
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
