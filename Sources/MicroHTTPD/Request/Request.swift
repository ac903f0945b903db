import CMicroHTTPD
import Foundation
import HTTPTypes
import Primitives

/// A copy of a request's head, exactly as it was sent, for use at any time on any thread. Copying a `Request` copies
/// only a reference. `@unchecked Sendable` is safe because the storage does not change after `init`.
package struct Request: @unchecked Sendable {
    /// One allocation for the whole head: the parsed ``RequestHead``, and then the head's bytes.
    let head: ManagedBuffer<RequestHead, UInt8>
    /// The number of bytes at the beginning of the target that are hidden; see ``droppingTargetPrefix(_:)``.
    private var prefixLength = 0

    /// Hides the first `length` bytes of ``path``, for a server that has already interpreted this prefix of the path.
    /// ``target``, ``path``, ``query`` and ``withTarget(_:)`` then show only the rest.
    package func droppingTargetPrefix(_ length: Int) -> Request {
        precondition(prefixLength + length <= head.header.path.count, "only bytes of the path can be dropped")
        var request = self
        request.prefixLength += length
        return request
    }

    /// As it was sent, in upper or lower case; may be a method that Larder does not know.
    package var method: String { text(head.header.method) }
    /// As it was sent, including its query; ``withTarget(_:)`` also shows bytes that are not UTF-8. Of a target in
    /// absolute form, only the part after its authority (see ``host``). A target with a NUL has a ``defect``.
    package var target: String { text(targetRange) }
    /// The target up to its first `?`, not decoded in any way.
    package var path: String { text(head.header.path.dropFirst(prefixLength)) }

    /// The target after its first `?`, not decoded; empty if the `?` is the last byte, `nil` without a `?`.
    package var query: String? {
        let target = head.header.target
        let path = head.header.path
        return path.endIndex == target.endIndex ? nil : text(path.endIndex + 1..<target.endIndex)
    }

    /// The authority of a target in absolute form, even if `Host` differs; else the first `Host` (RFC 9112 §3.2.2).
    package var host: String? {
        let authority = head.header.authority
        return authority.isEmpty ? field("Host") : text(authority)
    }

    /// `HTTP/1.1`, `HTTP/1.0`, or another `HTTP/1.x` that the client claims to speak.
    package var version: String { text(head.header.version) }
    /// The client's address without its port: `192.0.2.1`, `2001:db8::1`. An IPv4-mapped IPv6 address is shown as IPv4.
    package var remoteAddress: String { head.header.remoteAddress?.description ?? "" }

    /// The first `Content-Length`; `nil` without a `Content-Length`, and if the body is chunked.
    package var declaredLength: Int64? {
        let length = head.header.check.declaredLength
        return length < 0 ? nil : length
    }

    /// Whether there is a `Content-Length` other than 0, or any `Transfer-Encoding`.
    package var hasBody: Bool { head.header.check.hasBody }
    /// Whether the body is sent in chunks (RFC 9112 §7.1).
    var isChunked: Bool { hasBody && declaredLength == nil }
    /// The length of the head on the wire in bytes, including the empty line.
    package var headLength: Int { head.header.check.wireLength }
    /// The reason why the request must be refused; `nil` if there is none.
    package var defect: RequestDefect? { head.header.check.defect }
    package var isHead: Bool { head.header.isHead }

    /// The field lines with a token as their name, in the order sent, repeated lines separately, values trimmed. Each
    /// use builds the list anew, so keep the result. Only ``forEachFieldLine(_:)`` shows lines with other names.
    package var fields: HTTPFields {
        collectFields(reserving: head.header.fieldCount) { HTTPField.Name(String(decoding: $0.name, as: UTF8.self)) }
    }

    /// The fields of the list ``fields`` that have one of these names. Builds no values of other fields.
    package func fields(named names: [HTTPField.Name]) -> HTTPFields {
        collectFields { names.first(where: $0.isNamed) }
    }

    private func collectFields(reserving count: Int = 0, name: (RawField) -> HTTPField.Name?) -> HTTPFields {
        var fields = HTTPFields()
        fields.reserveCapacity(count)
        forEachFieldLine { field in
            if let name = name(field) { fields.append(HTTPField(name: name, lenientValue: field.value)) }
        }
        return fields
    }

    /// The values of all lines with this name, in order. Builds no values of other fields.
    package func values(_ name: HTTPField.Name) -> [String] { fields(named: [name]).map(\.value) }

    /// The value of the first line with this name, in any case of letters. Builds only the returned string.
    package func field(_ name: String) -> String? {
        var name = name
        return name.withUTF8 { name in
            withBytes(head.header.lines) { bytes in
                let line = FieldLines(rest: bytes).first { $0.name.equalsIgnoringCase(UnsafeRawBufferPointer(name)) }
                return line.map { String(decoding: $0.value, as: UTF8.self) }
            }
        }
    }

    /// Passes all lines in order, including lines without a token as their name. The name includes white space before
    /// the colon. The value is without white space around it. The bytes are valid during the call only.
    package func forEachFieldLine(_ body: (RawField) -> Void) {
        withBytes(head.header.lines) { bytes in
            for line in FieldLines(rest: bytes) { body(line) }
        }
    }

    /// Passes the bytes of ``target`` without building a string. The bytes are valid during the call only.
    package func withTarget<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try withBytes(targetRange, body)
    }

    private var targetRange: Range<Int> { head.header.target.dropFirst(prefixLength) }
    private func text(_ range: Range<Int>) -> String { withBytes(range) { String(decoding: $0, as: UTF8.self) } }

    private func withBytes<Result>(
        _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try head.withUnsafeMutablePointerToElements { bytes in
            try body(UnsafeRawBufferPointer(start: bytes + range.startIndex, count: range.count))
        }
    }

    init(
        _ line: RequestLine, target: UnsafeRawBufferPointer, fields: UnsafeBufferPointer<RawFieldLine>,
        check: HeadCheck, remoteAddress: IPAddress?
    ) {
        let method = UnsafeRawBufferPointer(start: line.method, count: strlen(line.method))
        let version = UnsafeRawBufferPointer(start: line.version, count: strlen(line.version))
        // `wireLength` covers the names and values of all lines. Each stored line also has two lengths of four bytes.
        let capacity = target.count + method.count + version.count + check.wireLength + 8 * fields.count
        head = ManagedBuffer.create(minimumCapacity: capacity) { _ in
            RequestHead(check: check, remoteAddress: remoteAddress)
        }
        head.withUnsafeMutablePointers { header, bytes in
            var writer = HeadWriter(bytes: UnsafeMutableRawBufferPointer(start: bytes, count: capacity))
            let absolute = target.absoluteForm
            let shown = absolute?.rest ?? target
            // A target in absolute form without a path means the path `/`.
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

/// The parsed head of a request. Its ranges are positions in the bytes that follow it: target, authority, method,
/// version, and the field lines. Each line is the 32-bit lengths of its name and value, then the name and the value.
struct RequestHead {
    var target = 0..<0
    var path = 0..<0
    /// Empty if the target is not in absolute form.
    var authority = 0..<0
    var method = 0..<0
    var version = 0..<0
    var lines = 0..<0
    var fieldCount = 0
    var isHead = false
    let check: HeadCheck
    let remoteAddress: IPAddress?
}

/// Writes the parts of a head into `bytes`. A field line for which `bytes` has no room is left out.
struct HeadWriter {
    let bytes: UnsafeMutableRawBufferPointer
    var count = 0

    mutating func append(_ source: UnsafeRawBufferPointer) -> Range<Int> {
        let range = count..<count + source.count
        UnsafeMutableRawBufferPointer(rebasing: bytes[range]).copyMemory(from: source)
        count = range.endIndex
        return range
    }

    /// Returns false, without effect, if the line does not fit.
    mutating func append(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) -> Bool {
        guard count + 8 + name.count + value.count <= bytes.count else { return false }
        bytes.storeBytes(of: UInt32(truncatingIfNeeded: name.count), toByteOffset: count, as: UInt32.self)
        bytes.storeBytes(of: UInt32(truncatingIfNeeded: value.count), toByteOffset: count + 4, as: UInt32.self)
        count += 8
        _ = append(name)
        _ = append(value)
        return true
    }
}

/// Reads back the field lines that ``HeadWriter`` wrote.
struct FieldLines: Sequence, IteratorProtocol {
    var rest: UnsafeRawBufferPointer

    mutating func next() -> RawField? {
        guard rest.count >= 8 else { return nil }
        let nameLength = Int(rest.loadUnaligned(as: UInt32.self))
        let valueLength = Int(rest.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        let end = 8 + nameLength + valueLength
        defer { rest = UnsafeRawBufferPointer(rebasing: rest[end...]) }
        return RawField(
            name: UnsafeRawBufferPointer(rebasing: rest[8..<8 + nameLength]),
            value: UnsafeRawBufferPointer(rebasing: rest[8 + nameLength..<end]))
    }
}

/// A request's head in libmicrohttpd's memory, not decoded; valid during ``RequestHandler/readyResponse(to:)`` only.
package struct RawHead: ~Copyable {
    /// Byte for byte as it was sent, in any form, including its query.
    package let target: UnsafeRawBufferPointer
    /// The result of ``RequestHandler/expect(_:)``.
    package let expectation: Int
    /// The length on the wire in bytes, including the empty line.
    package let length: Int
    /// Whether the method is HEAD; otherwise the method is GET.
    package let isHead: Bool
    let lines: UnsafeBufferPointer<RawFieldLine>
    package var fieldCount: Int { lines.count }

    /// The field at an index. Its name is a token.
    package subscript(field index: Int) -> RawField {
        RawField(name: lines[index].name, value: lines[index].value.trimmed)
    }
}

/// The name of a field, and its value without the white space around it. The pointers lead into the request's memory.
package struct RawField {
    package let name: UnsafeRawBufferPointer
    package let value: UnsafeRawBufferPointer

    package init(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        self.name = name
        self.value = value
    }

    /// Whether the name equals a text in any case of letters. The methods below also ignore the case.
    package func isNamed(_ text: StaticString) -> Bool { name.equalsIgnoringCase(text) }
    package func isNamed(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes(name.equalsIgnoringCase) }

    package func isNamed(_ name: HTTPField.Name) -> Bool {
        var text = name.canonicalName
        // The comparison of lengths excludes most fields.
        return text.utf8.count == self.name.count
            && text.withUTF8 { self.name.equalsIgnoringCase(UnsafeRawBufferPointer($0)) }
    }

    package func hasPrefix(_ text: StaticString) -> Bool {
        name.count >= text.utf8CodeUnitCount
            && UnsafeRawBufferPointer(rebasing: name[..<text.utf8CodeUnitCount]).equalsIgnoringCase(text)
    }

    package func says(_ text: StaticString) -> Bool { value.equalsIgnoringCase(text) }
}

/// A field line as libmicrohttpd shows it: its name and its value may have trailing white space.
struct RawFieldLine {
    let name: UnsafeRawBufferPointer
    let value: UnsafeRawBufferPointer

    /// Passes the field lines of the connection's current request. Lines beyond `limit` are left out.
    static func withLines<Result>(
        of handle: OpaquePointer, limit: Int, _ body: (UnsafeBufferPointer<RawFieldLine>) -> Result
    ) -> Result {
        withUnsafeTemporaryAllocation(of: RawFieldLine.self, capacity: limit) { room in
            var list = RawFieldList(room: room)
            cmhd_each_field(
                handle,
                { list, _, name, nameCount, value, valueCount in
                    list?.assumingMemoryBound(to: RawFieldList.self).pointee.append(
                        RawFieldLine(
                            name: UnsafeRawBufferPointer(start: name, count: name == nil ? 0 : nameCount),
                            value: UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : valueCount)))
                    return cmhd_result(true)
                }, &list)
            return body(UnsafeBufferPointer(rebasing: room[..<list.count]))
        }
    }
}

private struct RawFieldList {
    let room: UnsafeMutableBufferPointer<RawFieldLine>
    var count = 0

    mutating func append(_ line: RawFieldLine) {
        guard count < room.count else { return }
        room.initializeElement(at: count, to: line)
        count += 1
    }
}
