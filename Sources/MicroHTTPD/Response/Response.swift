import CMicroHTTPD
import HTTPTypes
import Primitives
import Synchronization

/// An answer. It never changes, and one `Response` may be sent any number of times, by several threads at once: what
/// libmicrohttpd needs to send it is made once, when that is first needed. (A ``Body/stream(_:length:)`` can be sent
/// once.)
///
/// `Date`, `Content-Length`, `Transfer-Encoding` and the reason phrase are libmicrohttpd's business. To `HEAD`, and
/// with 204 and 304, no body is sent; for `HEAD` and 304 the `Content-Length` is that of the body which is given, so
/// give a 304 the body of the 200, or ``Body/withheld(length:)``.
public final class Response: Sendable {
    /// What follows the head.
    public enum Body: Sendable {
        /// Nothing; `Content-Length: 0`.
        case empty
        /// Bytes, which are not copied.
        case bytes(SharedBytes)
        /// A part of them, not copied either.
        case slice(SharedBytes, Range<Int>)
        /// A file, or a part of one. Up to 256 KiB are read before the answer starts; more is read as it goes out, in
        /// blocks of 64 KiB. Where ``Daemon/Configuration/answerMemoryLimit`` leaves no room for that, blocks have 8
        /// KiB. When the file is shorter than it should be, the connection breaks off.
        case file(FileBody)
        /// What somebody produces while it is sent; `length` is how long it will be, `nil` when that is not known
        /// (the body is chunked then, and ends with the connection for a client of HTTP/1.0).
        case stream(ResponseStream, length: Int64?)
        /// A body that is never sent, for an answer to `HEAD` or a 304 whose body is not at hand. Sent as the answer to
        /// anything else it breaks the connection off.
        case withheld(length: Int64)
    }

    /// The status code, 200 to 999.
    public let status: Int
    /// The fields as they were given; of prepared ones, those that may be sent.
    public var fields: HTTPFields {
        switch head {
        case .fields(let fields): fields
        case .prepared(let prepared): prepared.fields
        }
    }
    /// The body.
    public let body: Body

    /// What stands before the body.
    enum Head: Sendable {
        case fields(HTTPFields)
        case prepared(PreparedFields)
    }

    /// The fields, in the form in which they were given.
    let head: Head

    /// The address of what ``shared`` has made, to which this object holds one reference; 0 before.
    private let made = Atomic<Int>(0)

    /// An answer with this status (200 unless told), these fields, in this order, and this body (none unless told).
    ///
    /// Fields that HTTP does not allow are left out rather than sent: a name that is not a token, a value with a
    /// control character but tab, or an empty one (libmicrohttpd cannot send those). So are those that are not the
    /// caller's to set: `Content-Length`, `Transfer-Encoding`, and everything in `Connection` but `close`. A status
    /// outside of 200...999 is a programmer error.
    public convenience init(status: Int = 200, fields: HTTPFields = [:], body: Body = .empty) {
        self.init(status: status, head: .fields(fields), body: body)
    }

    /// An answer with this status (200 unless told), fields that are prepared already, and this body.
    public convenience init(status: Int = 200, fields: PreparedFields, body: Body) {
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

    /// libmicrohttpd's object, for the bodies that can be sent more than once; `nil` for others, and when there is no
    /// memory for it. It counts references to it and reads it under its own lock, from any number of threads.
    var shared: OpaquePointer? { OpaquePointer(bitPattern: made.load(ordering: .acquiring)) ?? make() }

    /// Makes it; when several do so at once, the first one's stays.
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
