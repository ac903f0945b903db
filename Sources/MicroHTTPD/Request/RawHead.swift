import CMicroHTTPD
import HTTPTypes

/// A request's head in libmicrohttpd's memory, not decoded; valid during ``RequestHandler/readyResponse(to:)`` only.
package struct RawHead: ~Copyable {
    /// Byte for byte as it was sent, in any form, including its query.
    package let target: UnsafeRawBufferPointer
    /// The result of ``RequestHandler/expect(_:)``.
    package let expectation: Int
    /// The length on the wire in bytes, including the empty line.
    package let length: Int
    /// Otherwise the method is GET.
    package let isHead: Bool
    let lines: UnsafeBufferPointer<RawFieldLine>
    package var fieldCount: Int { lines.count }

    /// The name is a token.
    package subscript(field index: Int) -> RawField {
        RawField(name: lines[index].name, value: lines[index].value.trimmed)
    }
}

/// The name of a field, and its value without the white space around it, both in place.
package struct RawField {
    package let name: UnsafeRawBufferPointer
    package let value: UnsafeRawBufferPointer

    package init(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        self.name = name
        self.value = value
    }

    /// Whether the name equals a text in any case of letters. The other comparisons here ignore the case, too.
    package func isNamed(_ text: StaticString) -> Bool { name.equalsIgnoringCase(text) }
    package func isNamed(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes(name.equalsIgnoringCase) }

    package func isNamed(_ name: HTTPField.Name) -> Bool {
        var text = name.canonicalName
        // The length excludes most fields.
        return text.utf8.count == self.name.count
            && text.withUTF8 { self.name.equalsIgnoringCase(UnsafeRawBufferPointer($0)) }
    }

    package func hasPrefix(_ text: StaticString) -> Bool {
        name.count >= text.utf8CodeUnitCount
            && UnsafeRawBufferPointer(rebasing: name[..<text.utf8CodeUnitCount]).equalsIgnoringCase(text)
    }

    package func says(_ text: StaticString) -> Bool { value.equalsIgnoringCase(text) }
}

/// A field line as libmicrohttpd shows it: both the name and the value may have trailing white space.
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
