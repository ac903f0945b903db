import HTTPTypes
import Primitives

// Answers as bytes, for cases in which libmicrohttpd cannot send them.

extension Response {
    /// Without the empty line at the end.
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

    /// The connection closes afterwards. `nil` if the body is not in memory.
    func wireForm(toHead isHead: Bool) -> [UInt8]? {
        let content: UnsafeRawBufferPointer
        switch body {
        case .empty: content = UnsafeRawBufferPointer(start: nil, count: 0)
        case .bytes(let shared): content = shared.bytes
        case .slice(let shared, let range): content = UnsafeRawBufferPointer(rebasing: shared.bytes[range])
        case .file, .stream, .withheld: return nil
        }
        return withExtendedLifetime(self) {
            var bytes = Self.wireHead(status: status, reason: "", fields: fields)
            if fields[.date] == nil { bytes += Array("Date: \(SystemClock().now().httpDate)\r\n".utf8) }
            bytes += Array("Content-Length: \(content.count)\r\nConnection: close\r\n\r\n".utf8)
            return isHead ? bytes : bytes + content
        }
    }
}
