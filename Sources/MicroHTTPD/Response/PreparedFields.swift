import CMicroHTTPD
import HTTPTypes

/// Fields in the form that libmicrohttpd gets: checked, and joined into one field; see `cmhd_add_fields`. Preparing the
/// fields that many answers have in common saves most of the cost of each answer's head.
package struct PreparedFields: Sendable {
    /// The first field's name, a zero, its value, the lines of the further fields, and a zero. Empty without a field.
    private var bytes: [UInt8] = []
    /// Includes the zero.
    private var nameLength = 0
    /// The offsets of the line ends, counted from the first value.
    private var ends: [Int] = []

    /// Leaves out `Date`, `Connection`, and the fields that ``Response/init(status:fields:body:)`` leaves out.
    package init(_ fields: HTTPFields = [:]) {
        fields.forEachSendable { name, value in
            if !UnsafeRawBufferPointer(name).equalsIgnoringCase("date") { append(name, value) }
        }
    }

    /// `name` is a token, and not a field that libmicrohttpd sets itself. Leaves the field out if its value has a
    /// control character other than tab. The value may be empty (RFC 9110 §5.5).
    package mutating func append(_ name: StaticString, _ value: String) {
        let name = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        assert(UnsafeRawBufferPointer(name).isToken, "a field's name is a token")
        var value = value
        value.withUTF8 { value in
            guard UnsafeRawBufferPointer(value).isFieldContent else { return }
            append(name, value)
        }
    }

    package mutating func append(_ others: PreparedFields) {
        guard others.nameLength > 0 else { return }
        others.bytes.withUnsafeBufferPointer { bytes in
            let lines = bytes[others.nameLength..<(bytes.count - 1)]
            append(
                UnsafeBufferPointer(rebasing: bytes[..<(others.nameLength - 1)]), UnsafeBufferPointer(rebasing: lines))
            let start = self.bytes.count - 1 - nameLength - lines.count
            for end in others.ends { ends.append(start + end) }
        }
    }

    /// Adds a field without checking it.
    mutating func append(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
        if nameLength == 0 {
            bytes.reserveCapacity(512)
            ends.reserveCapacity(16)
            bytes.append(contentsOf: name)
            bytes.append(0)
            nameLength = bytes.count
            // libmicrohttpd refuses an empty value. A space before a value is not a part of the value (RFC 9112 §5.1).
            if value.isEmpty { bytes.append(0x20) }
        } else {
            bytes.removeLast()
            ends.append(bytes.count - nameLength)
            bytes.append(0x20)
            bytes.append(0x20)
            bytes.append(contentsOf: name)
            bytes.append(0x3a)
            bytes.append(0x20)
        }
        bytes.append(contentsOf: value)
        bytes.append(0)
    }

    func add(to handle: OpaquePointer) {
        if nameLength == 0 { return }
        bytes.withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { text in
                guard let name = text.baseAddress else { return }
                cmhd_add_fields(handle, name, name + nameLength, ends, ends.count)
            }
        }
    }

    var fields: HTTPFields {
        guard nameLength > 0 else { return [:] }
        var fields = HTTPFields()
        var start = nameLength
        var name = bytes[..<(nameLength - 1)]
        for end in ends.map({ $0 + nameLength }) + [bytes.count - 1] {
            let value = bytes[start..<end]
            if let name = HTTPField.Name(String(decoding: name, as: UTF8.self)) {
                fields.append(HTTPField(name: name, value: value))
            }
            guard end < bytes.count - 1, let colon = bytes[end...].firstIndex(of: 0x3a) else { break }
            name = bytes[(end + 2)..<colon]
            start = colon + 2
        }
        return fields
    }
}

extension HTTPFields {
    /// Passes the fields that may be sent, unchanged and in order; see ``Response/init(status:fields:body:)``.
    func forEachSendable(
        _ body: (_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Void
    ) {
        for field in self where !Self.isOfConnection(field.name) {
            var name = field.name.rawName
            name.withUTF8 { name in
                guard UnsafeRawBufferPointer(name).isToken else { return }
                field.withUnsafeBytesOfValue { value in
                    guard UnsafeRawBufferPointer(value).isFieldContent else { return }
                    body(name, value)
                }
            }
        }
    }

    /// Whether libmicrohttpd writes the field itself, because it frames the body and manages the connection.
    private static func isOfConnection(_ name: HTTPField.Name) -> Bool {
        // The lengths are compared first, because comparing texts costs more.
        switch name.canonicalName.utf8.count {
        case 10: name == .connection
        case 14: name == .contentLength
        case 17: name == .transferEncoding
        default: false
        }
    }
}
