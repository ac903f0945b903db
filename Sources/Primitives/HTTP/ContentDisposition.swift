/// The file name that a server suggests with `Content-Disposition` (RFC 6266).
package struct ContentDisposition: Equatable, Sendable {
    /// The name without directories; `nil` when the field has no usable name or breaks the grammar. `filename*` (RFC
    /// 8187) has precedence over `filename` (RFC 6266 §4.3). All characters up to the last slash or backslash, and all
    /// control characters, are removed, because the name must not lead to another directory (RFC 6266 §4.3).
    package let fileName: String?

    package init(_ value: String) {
        var plain: String?
        var extended: String?
        for (name, text) in Self.parameters(of: value) {
            switch name {
            case "filename": plain = plain ?? String(decoding: text, as: UTF8.self)
            case "filename*": extended = extended ?? Self.decodeExtended(text)
            default: break
            }
        }
        fileName = (extended ?? plain).flatMap(Self.lastComponent)
    }

    /// Returns the parameters behind the first `;` of a field's value (RFC 9110 §5.6.6), with names in lower case and
    /// values without their quotes. Skips parameters that break the grammar.
    package static func parameters(of value: String) -> [(name: String, value: [UInt8])] {
        var parameters: [(name: String, value: [UInt8])] = []
        var rest = value.utf8.drop { $0 != UInt8(ascii: ";") }
        while !rest.isEmpty {
            rest = rest.dropFirst().drop { $0.isFieldSpace || $0 == UInt8(ascii: ";") }
            let name = rest.prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") }
            rest = rest[name.endIndex...]
            guard rest.first == UInt8(ascii: "=") else { continue }
            rest = rest.dropFirst().drop(while: \.isFieldSpace)
            let text = takeValue(&rest)
            let lowerName = String(decoding: name.filter { !$0.isFieldSpace }, as: UTF8.self).lowercased()
            parameters.append((lowerName, text))
        }
        return parameters
    }

    /// Returns a token or the content of a quoted string, and moves `rest` to the next `;`.
    private static func takeValue(_ rest: inout Substring.UTF8View) -> [UInt8] {
        guard rest.first == UInt8(ascii: "\"") else {
            let token = rest.prefix { $0 != UInt8(ascii: ";") }
            rest = rest[token.endIndex...]
            return Array(token.trimming(while: \.isFieldSpace))
        }
        var text: [UInt8] = []
        rest = rest.dropFirst()
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            // Only `\"` and `\\` are escapes, because some servers send Windows paths with single backslashes.
            if byte == UInt8(ascii: "\\"), let next = rest.first, next == UInt8(ascii: "\"") || next == byte {
                rest.removeFirst()
                text.append(next)
            } else {
                text.append(byte)
            }
        }
        rest = rest.drop { $0 != UInt8(ascii: ";") }
        return text
    }

    /// Decodes UTF-8 and ISO-8859-1, as in `UTF-8''na%C3%AFve.txt`; `nil` for other charsets and wrong escapes.
    private static func decodeExtended(_ text: [UInt8]) -> String? {
        let parts = text.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = PercentEscape.decode(parts[2]) else { return nil }
        switch String(decoding: parts[0], as: UTF8.self).lowercased() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        default: return nil
        }
    }

    private static func lastComponent(_ name: String) -> String? {
        let component = name.unicodeScalars
            .split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "\\" }.last
            .map { String(String.UnicodeScalarView($0.filter { !isControl($0) })) }
        guard let component, !component.isEmpty, component != ".", component != ".." else { return nil }
        return component
    }

    /// Whether the character is a control character, or changes the direction of the text around it.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
    }
}
