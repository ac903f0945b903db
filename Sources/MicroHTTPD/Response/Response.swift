import CMicroHTTPD
import Foundation
import HTTPTypes
import Primitives
import Synchronization

/// An answer. It never changes, and may be sent any number of times, by several threads at once, except with a
/// ``Body/stream(_:length:)``. The first use makes libmicrohttpd's object for the answer. libmicrohttpd writes `Date`,
/// `Content-Length`, `Transfer-Encoding` and the reason phrase. `HEAD`, 204 and 304 get no body, but `HEAD` and 304 get
/// the `Content-Length` of the body.
package final class Response: Sendable {
    package enum Body: Sendable {
        /// Sends `Content-Length: 0`.
        case empty
        case bytes(SharedBytes)
        case slice(SharedBytes, Range<Int>)
        /// A file of up to 256 KiB is read before the answer starts, if ``DaemonConfiguration/answerMemoryLimit`` has
        /// room. Other files are sent in blocks of 64 or 8 KiB (less 512 bytes). If a file is too short, the connection
        /// breaks off.
        case file(FileBody)
        /// With `nil` as the `length`, the body is chunked; for a client of HTTP/1.0, it ends with the connection.
        case stream(ResponseStream, length: Int64?)
        /// Sends no body: for `HEAD`, or for a 304. In any other answer the connection breaks off after the head.
        case withheld(length: Int64)

        /// `nil` for a file, a stream, and a withheld body. Valid while the body exists.
        fileprivate var bytesInMemory: UnsafeRawBufferPointer? {
            switch self {
            case .empty: UnsafeRawBufferPointer(start: nil, count: 0)
            case .bytes(let bytes): bytes.bytes
            case .slice(let bytes, let range): UnsafeRawBufferPointer(rebasing: bytes.bytes[range])
            case .file, .stream, .withheld: nil
            }
        }
    }

    package let status: Int
    package let body: Body
    let head: Head

    enum Head: Sendable {
        case fields(HTTPFields)
        case prepared(PreparedFields)
    }

    /// The fields as they were given; of prepared fields, only the fields that may be sent.
    package var fields: HTTPFields {
        switch head {
        case .fields(let fields): fields
        case .prepared(let prepared): prepared.fields
        }
    }

    /// The address of the object that ``shared`` has made, which this response retains; 0 before the first use.
    private let made = Atomic<Int>(0)

    /// Leaves out invalid fields (a name that is not a token, a value with a control character other than tab),
    /// `Content-Length`, `Transfer-Encoding`, and all options of `Connection` except `close`. `status` is 200 to 999.
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

    /// libmicrohttpd's object for the answer; `nil` for a body that can be sent only once, and without memory.
    /// libmicrohttpd counts the references to the object and reads it under its own lock, from any number of threads.
    var shared: OpaquePointer? { OpaquePointer(bitPattern: made.load(ordering: .acquiring)) ?? make() }

    /// If several threads make the object at the same time, the first object stays and the others are freed.
    private func make() -> OpaquePointer? {
        guard let handle = Self.makeShareable(body) else { return nil }
        Self.add(head, to: handle, closing: false)
        let (isFirst, other) = made.compareExchange(
            expected: 0, desired: Int(bitPattern: handle), ordering: .acquiringAndReleasing)
        if isFirst { return handle }
        MHD_destroy_response(handle)
        return OpaquePointer(bitPattern: other)
    }

    static func add(_ head: Head, to handle: OpaquePointer, closing: Bool) {
        switch head {
        case .fields(let fields): add(fields, to: handle, closing: closing)
        case .prepared(let prepared):
            if closing { _ = cmhd_add_field(handle, "Connection", "close") }
            prepared.add(to: handle)
        }
    }

    private static func add(_ fields: HTTPFields, to handle: OpaquePointer, closing: Bool) {
        // `Connection` comes first, because libmicrohttpd writes it twice if it is added after some other fields.
        if closing || (fields.contains(.connection) && fields[values: .connection].contains(where: hasClose)) {
            _ = cmhd_add_field(handle, "Connection", "close")
        }
        var lines = PreparedFields()
        fields.forEachSendable { name, value in
            // `Date` stays a separate field, because libmicrohttpd looks for it, and adds its own if it finds none.
            if UnsafeRawBufferPointer(name).equalsIgnoringCase("date") {
                var date = PreparedFields()
                date.append(name, value)
                date.add(to: handle)
            } else {
                lines.append(name, value)
            }
        }
        lines.add(to: handle)
    }

    private static func hasClose(_ value: String) -> Bool {
        value.split(separator: ",").contains { option in
            option.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }.lowercased() == "close"
        }
    }

    /// The memory that the sending of a response reads, for prefetching.
    package struct Memory: Sendable {
        private let response, object, fields, body: MemoryHint

        fileprivate init(of response: Response) {
            let bytes = response.body.bytesInMemory ?? UnsafeRawBufferPointer(start: nil, count: 0)
            self.response = MemoryHint(response, length: 64)
            // Covers libmicrohttpd's object, and the bytes behind it, in which malloc often places its list of fields.
            let handle = response.shared
            object = MemoryHint(handle.map { UnsafeRawPointer($0) }, length: 448)
            fields = handle.map(Self.longestField) ?? MemoryHint(nil, length: 0)
            // The processor itself prefetches the bytes after these.
            body = MemoryHint(bytes.baseAddress, length: min(bytes.count, 2048))
        }

        /// `cmhd_add_fields` joins most fields into one, so the longest field has most of the text.
        private static func longestField(of handle: OpaquePointer) -> MemoryHint {
            var longest = UnsafeRawBufferPointer(start: nil, count: 0)
            withUnsafeMutablePointer(to: &longest) { longest in
                _ = MHD_get_response_headers(
                    handle,
                    { longest, _, _, value in
                        let field = UnsafeRawBufferPointer(start: value, count: value.map { strlen($0) } ?? 0)
                        let longest = longest!.assumingMemoryBound(to: UnsafeRawBufferPointer.self)
                        if field.count > longest.pointee.count { longest.pointee = field }
                        return cmhd_result(true)
                    }, longest)
            }
            return MemoryHint(longest.baseAddress, length: longest.count)
        }

        package func prefetch() {
            response.prefetch()
            object.prefetch()
            fields.prefetch()
            body.prefetch()
        }
    }

    /// For a body that can be sent only once, just the Swift object. For other bodies, may make libmicrohttpd's object.
    package var memory: Memory { Memory(of: self) }
}

// Answers as bytes, for cases in which libmicrohttpd cannot send them.

extension Response {
    /// The status line and the field lines, without the empty line at the end.
    static func wireHead(status: Int, reason: StaticString, fields: HTTPFields) -> [UInt8] {
        var bytes = Array("HTTP/1.1 \(status) ".utf8)
        bytes += UnsafeRawBufferPointer(start: reason.utf8Start, count: reason.utf8CodeUnitCount)
        bytes += Array("\r\n".utf8)
        fields.forEachSendable { name, value in
            bytes += name
            bytes += Array(": ".utf8)
            bytes += value
            bytes += Array("\r\n".utf8)
        }
        return bytes
    }

    /// The whole answer, with `Connection: close`. `nil` if the body is not in memory.
    func wireForm(toHead isHead: Bool) -> [UInt8]? {
        guard let content = body.bytesInMemory else { return nil }
        return withExtendedLifetime(self) {
            var bytes = Self.wireHead(status: status, reason: "", fields: fields)
            if fields[.date] == nil { bytes += Array("Date: \(SystemClock().now().httpDate)\r\n".utf8) }
            bytes += Array("Content-Length: \(content.count)\r\nConnection: close\r\n\r\n".utf8)
            return isHead ? bytes : bytes + content
        }
    }
}

/// A part of an open file, which several answers may send at once.
package final class FileBody: Sendable {
    /// From the start of the file, in bytes.
    package let offset: Int64
    /// In bytes. If the file turns out to be shorter, the connection breaks off.
    package let length: Int64
    let descriptor: Int32
    let owner: any AnyObject & Sendable

    /// `owner` keeps the descriptor open as long as it exists. The descriptor is read by `pread` only.
    package init(descriptor: Int32, of owner: any AnyObject & Sendable, offset: Int64 = 0, length: Int64) {
        precondition(offset >= 0 && length >= 0, "the offset and the length of a part of a file are not negative")
        self.descriptor = descriptor
        self.owner = owner
        self.offset = offset
        self.length = length
    }

    /// `position` counts from this part's start. Returns the number of bytes, 0 at the file's end, or -1 on an error.
    func readBytes(into target: UnsafeMutableRawBufferPointer, at position: Int64) -> Int {
        while true {
            let count = pread(descriptor, target.baseAddress, target.count, off_t(offset + position))
            if count >= 0 || errno != EINTR { return count }
        }
    }
}
