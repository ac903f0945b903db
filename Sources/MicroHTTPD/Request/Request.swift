import CMicroHTTPD
import Foundation
import HTTPTypes

/// The head of a request, exactly as it was sent, copied for any time and thread. A copy of a `Request` is a reference.
/// `@unchecked Sendable` is safe because the storage does not change after `init`.
package struct Request: @unchecked Sendable {
    /// One allocation for the whole head, with its bytes after the header.
    let head: ManagedBuffer<RequestHead, UInt8>
    /// Bytes at the beginning of the target that are hidden; see ``droppingTargetPrefix(_:)``.
    private var prefixLength = 0

    /// Hides the first `length` bytes of ``path``, for a server with paths that begin with a prefix of another meaning.
    /// ``target``, ``path``, ``query`` and ``withTarget(_:)`` show only the rest.
    package func droppingTargetPrefix(_ length: Int) -> Request {
        precondition(prefixLength + length <= head.header.path.count, "only bytes of the path can be dropped")
        var request = self
        request.prefixLength += length
        return request
    }

    /// As it was sent: any token, in any case.
    package var method: String { text(head.header.method) }

    /// Byte for byte as it was sent, including its query. Bytes that are not UTF-8 are replaced (``withTarget(_:)``
    /// shows them). Of a target in absolute form, `http://host/path?query`, only the part after the authority (see
    /// ``host``). libmicrohttpd cuts a target at a NUL; such a request has a ``defect``.
    package var target: String { text(targetRange) }

    /// The target up to its first `?`, not decoded in any way.
    package var path: String { text(head.header.path.dropFirst(prefixLength)) }

    /// After the first `?` of the target, not decoded; empty if the `?` is the last byte, `nil` without a `?`.
    package var query: String? {
        let target = head.header.target
        let path = head.header.path
        return path.endIndex == target.endIndex ? nil : text(path.endIndex + 1..<target.endIndex)
    }

    /// The authority of a target in absolute form, even if `Host` differs, else the first `Host` (RFC 9112 §3.2.2).
    package var host: String? {
        let authority = head.header.authority
        return authority.isEmpty ? field("Host") : text(authority)
    }

    /// `HTTP/1.1`, `HTTP/1.0`, or another `HTTP/1.x` that the client claims to speak.
    package var version: String { text(head.header.version) }

    /// Without port: `192.0.2.1`, `2001:db8::1`. IPv4 clients of an IPv6 socket are shown as IPv4.
    package var remoteAddress: String { head.header.remoteAddress.text }

    /// The first `Content-Length`; `nil` without a `Content-Length`, and if the body is chunked.
    package var declaredLength: Int64? {
        let length = head.header.check.declaredLength
        return length < 0 ? nil : length
    }

    /// A `Content-Length` other than 0, or any `Transfer-Encoding`.
    package var hasBody: Bool { head.header.check.hasBody }

    /// RFC 9112 §7.1.
    var isChunked: Bool { hasBody && declaredLength == nil }

    /// On the wire, in bytes, including the empty line.
    package var headLength: Int { head.header.check.wireLength }

    /// The reason to refuse the request. A handler that accepts a request with a defect does so at its own risk.
    package var defect: RequestDefect? { head.header.check.defect }

    package var isHead: Bool { head.header.isHead }

    /// Field lines with a token as their name, in the order sent, repeated lines separately, values trimmed. The list
    /// is built anew at each use, so keep it. Only ``forEachFieldLine(_:)`` shows lines with other names.
    package var fields: HTTPFields {
        var fields = HTTPFields()
        fields.reserveCapacity(head.header.fieldCount)
        forEachFieldLine { field in
            guard let name = HTTPField.Name(String(decoding: field.name, as: UTF8.self)) else { return }
            fields.append(HTTPField(name: name, lenientValue: field.value))
        }
        return fields
    }

    /// The part of ``fields`` with these names. No values are built for other fields.
    package func fields(named names: [HTTPField.Name]) -> HTTPFields {
        var fields = HTTPFields()
        forEachFieldLine { field in
            guard let name = names.first(where: field.isNamed) else { return }
            fields.append(HTTPField(name: name, lenientValue: field.value))
        }
        return fields
    }

    /// Of each line, in order. No values are built for other fields.
    package func values(_ name: HTTPField.Name) -> [String] { fields(named: [name]).map(\.value) }

    /// Of the first line with that name, in any case of letters. Only the returned string is built.
    package func field(_ name: String) -> String? {
        var name = name
        return name.withUTF8 { name in
            let name = UnsafeRawBufferPointer(name)
            return withLines { lines in
                while let line = lines.next() {
                    if line.name.equalsIgnoringCase(name) { return String(decoding: line.value, as: UTF8.self) }
                }
                return nil
            }
        }
    }

    /// Passes the lines as they were sent, in order, including lines with a name that is not a token. The name includes
    /// white space before the colon; the value is without white space around it. The bytes are valid during the call.
    package func forEachFieldLine(_ body: (RawField) -> Void) {
        withLines { lines in
            while let line = lines.next() { body(line) }
        }
    }

    /// Makes no string. The bytes are valid during the call only.
    package func withTarget<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        let range = targetRange
        return try head.withUnsafeMutablePointerToElements { bytes in
            try body(UnsafeRawBufferPointer(start: bytes + range.startIndex, count: range.count))
        }
    }

    private var targetRange: Range<Int> { head.header.target.dropFirst(prefixLength) }

    private func text(_ range: Range<Int>) -> String {
        head.withUnsafeMutablePointerToElements { bytes in
            String(
                decoding: UnsafeRawBufferPointer(start: bytes + range.startIndex, count: range.count), as: UTF8.self)
        }
    }

    private func withLines<Result>(_ body: (inout FieldLines) -> Result) -> Result {
        let range = head.header.lines
        return head.withUnsafeMutablePointerToElements { bytes in
            var lines = FieldLines(
                rest: UnsafeRawBufferPointer(start: bytes + range.startIndex, count: range.count))
            return body(&lines)
        }
    }

    init(
        _ line: RequestLine, target: UnsafeRawBufferPointer, fields: UnsafeBufferPointer<RawFieldLine>,
        check: HeadCheck, remoteAddress: RemoteAddress
    ) {
        let method = UnsafeRawBufferPointer(start: line.method, count: strlen(line.method))
        let version = UnsafeRawBufferPointer(start: line.version, count: strlen(line.version))
        // On the wire a line has a colon and a line end, of at least two bytes together; here it has eight more.
        let capacity = target.count + method.count + version.count + check.wireLength + 8 * fields.count
        head = ManagedBuffer.create(minimumCapacity: capacity) { _ in
            RequestHead(check: check, remoteAddress: remoteAddress)
        }
        head.withUnsafeMutablePointers { header, bytes in
            var writer = HeadWriter(bytes: UnsafeMutableRawBufferPointer(start: bytes, count: capacity))
            let absolute = target.absoluteForm
            let shown = absolute?.rest ?? target
            // A target with an authority and without a path means the root.
            let isRoot = target.count > shown.count && shown.first != UInt8(ascii: "/")
            let slash = UnsafeRawBufferPointer(start: ("/" as StaticString).utf8Start, count: isRoot ? 1 : 0)
            let root = writer.append(slash)
            header.pointee.target = root.lowerBound..<writer.append(shown).upperBound
            if let absolute { header.pointee.authority = writer.append(absolute.authority) }
            header.pointee.method = writer.append(method)
            header.pointee.version = writer.append(version)
            header.pointee.isHead = method.count == 4 && memcmp(line.method, "HEAD", 4) == 0
            let question = shown.firstIndex(of: UInt8(ascii: "?"))
            header.pointee.path = 0..<(question.map { root.count + $0 } ?? header.pointee.target.upperBound)
            let start = writer.count
            for field in fields where writer.append(name: field.name, value: field.value.trimmed) {
                header.pointee.fieldCount += 1
            }
            header.pointee.lines = start..<writer.count
        }
    }
}
