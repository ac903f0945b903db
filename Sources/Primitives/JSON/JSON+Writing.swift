extension JSON {
    /// The value as compact UTF-8 text.
    package var utf8: [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(1024)
        write(into: &output)
        return output
    }

    /// The value as compact text.
    package var text: String {
        String(decoding: utf8, as: UTF8.self)
    }

    /// Appends the value as compact UTF-8 text.
    package func write(into output: inout [UInt8]) {
        switch self {
        case .null: output.append(contentsOf: "null".utf8)
        case .bool(let value): output.append(contentsOf: (value ? "true" : "false").utf8)
        case .number(let text): output.append(contentsOf: text.utf8)
        case .string(let text): Self.write(text, into: &output)
        case .array(let elements):
            output.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                element.write(into: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let members):
            output.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                Self.write(member.name, into: &output)
                output.append(UInt8(ascii: ":"))
                member.value.write(into: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }

    /// Writes a string with its quotes. RFC 8259 §7 requires escapes for the quotation mark, the reverse solidus and
    /// control characters; all other bytes are copied.
    static func write(_ text: String, into output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        defer { output.append(UInt8(ascii: "\"")) }
        var text = text
        // Most strings need no escape and are copied at once.
        let isPlain = text.withUTF8 { bytes in
            let needsEscape = bytes.contains { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
            if !needsEscape { output.append(contentsOf: bytes) }
            return !needsEscape
        }
        if isPlain { return }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                output.append(UInt8(ascii: "\\"))
                output.append(byte)
            case 0x0A: output.append(contentsOf: "\\n".utf8)
            case 0x0D: output.append(contentsOf: "\\r".utf8)
            case 0x09: output.append(contentsOf: "\\t".utf8)
            case 0..<0x20:
                output.append(contentsOf: "\\u00".utf8)
                output.append((byte >> 4).hexDigit)
                output.append((byte & 15).hexDigit)
            default: output.append(byte)
            }
        }
    }
}
