import CMicroHTTPD
import HTTPTypes

/// The head of a request where it lies in libmicrohttpd's memory: nothing is copied, and nothing decoded. It is shown
/// to ``RequestHandler/readyResponse(to:)``, and valid during that call only.
public struct RawHead: ~Copyable {
    /// The request target, byte for byte as it was sent, in whatever form, its query included.
    public let target: UnsafeRawBufferPointer
    /// What ``RequestHandler/expect(_:)`` said to the target.
    public let expectation: Int
    /// How many bytes the head has on the wire, its empty line included.
    public let length: Int
    /// The method is GET or HEAD; whether it is HEAD.
    public let isHead: Bool
    private let lines: UnsafeBufferPointer<RawFieldLine>

    init(
        target: UnsafeRawBufferPointer, expectation: Int, length: Int, isHead: Bool,
        lines: UnsafeBufferPointer<RawFieldLine>
    ) {
        self.target = target
        self.expectation = expectation
        self.length = length
        self.isHead = isHead
        self.lines = lines
    }

    /// How many field lines there are.
    public var fieldCount: Int { lines.count }

    /// A field line; its name is a token.
    public subscript(field index: Int) -> RawField {
        RawField(name: lines[index].name, value: lines[index].value.trimmed)
    }
}

/// The name of a field, and its value without the white space around it, where they lie.
public struct RawField {
    /// The name, as it was sent.
    public let name: UnsafeRawBufferPointer
    /// The value.
    public let value: UnsafeRawBufferPointer

    /// A field at that place.
    public init(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        self.name = name
        self.value = value
    }

    /// Whether that is its name, which is written in lower case.
    public func isNamed(_ text: StaticString) -> Bool { name.equalsIgnoringCase(text) }

    /// Whether that is its name, in whatever case.
    public func isNamed(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes(name.equalsIgnoringCase) }

    /// Whether that is its name, in whatever case.
    public func isNamed(_ name: HTTPField.Name) -> Bool {
        var text = name.canonicalName
        // The length tells most apart.
        return text.utf8.count == self.name.count
            && text.withUTF8 { self.name.equalsIgnoringCase(UnsafeRawBufferPointer($0)) }
    }

    /// Whether its name begins like that, which is written in lower case.
    public func hasPrefix(_ text: StaticString) -> Bool {
        name.count >= text.utf8CodeUnitCount
            && UnsafeRawBufferPointer(rebasing: name[..<text.utf8CodeUnitCount]).equalsIgnoringCase(text)
    }

    /// Whether that is its value, which is written in lower case, in whatever case.
    public func says(_ text: StaticString) -> Bool { value.equalsIgnoringCase(text) }
}

/// A field line as libmicrohttpd shows it: the name perhaps with white space behind it, the value, too.
struct RawFieldLine {
    let name: UnsafeRawBufferPointer
    let value: UnsafeRawBufferPointer

    /// Runs `body` with the lines of the request that is on a connection.
    ///
    /// - Parameter limit: how many there may be; more are left out.
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
