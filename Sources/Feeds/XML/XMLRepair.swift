/// Corrects common errors of feeds that would make a document ill-formed: ampersands that begin no reference, character
/// references of HTML without a declaration, and control characters.
enum XMLRepair {
    /// Returns the corrected document. CDATA sections, comments, instructions and the DOCTYPE keep their bytes, except
    /// for control characters, which become spaces. The result has at most five times the bytes.
    static func repaired(_ document: [UInt8]) -> [UInt8] {
        guard document.contains(where: { $0 == UInt8(ascii: "&") || $0 < 0x20 }) else { return document }
        var output: [UInt8] = []
        output.reserveCapacity(document.count + document.count / 16)
        var index = 0
        /// The end of the section that keeps its ampersands.
        var keptUntil = 0
        while index < document.count {
            let byte = document[index]
            if byte < 0x20, byte != 0x09, byte != 0x0a, byte != 0x0d {
                output.append(0x20)
            } else if index < keptUntil || byte != UInt8(ascii: "<") && byte != UInt8(ascii: "&") {
                output.append(byte)
            } else if byte == UInt8(ascii: "<") {
                if let end = endOfSection(document, at: index) { keptUntil = end }
                output.append(byte)
            } else {
                let (text, end) = reference(document, at: index)
                output += text
                index = end
                continue
            }
            index += 1
        }
        return output
    }

    /// The index behind a section without references; `nil` if none begins here. A section without an end extends to
    /// the end of the document.
    private static func endOfSection(_ bytes: [UInt8], at start: Int) -> Int? {
        let rest = bytes[start...]
        let end: StaticString
        if rest.starts(with: "<![CDATA[".utf8) {
            end = "]]>"
        } else if rest.starts(with: "<!--".utf8) {
            end = "-->"
        } else if rest.starts(with: "<?".utf8) {
            end = "?>"
        } else if rest.starts(with: "<!DOCTYPE".utf8) {
            return endOfDoctype(bytes, at: start)
        } else {
            return nil
        }
        let text = UnsafeBufferPointer(start: end.utf8Start, count: end.utf8CodeUnitCount)
        var index = start + 2
        while index + text.count <= bytes.count {
            if bytes[index] == text[0], bytes[index..<index + text.count].elementsEqual(text) {
                return index + text.count
            }
            index += 1
        }
        return bytes.count
    }

    /// An internal subset is enclosed in brackets. Brackets in its literals are rare and only move the end.
    private static func endOfDoctype(_ bytes: [UInt8], at start: Int) -> Int {
        var depth = 0
        for index in start..<bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ">") where depth <= 0: return index + 1
            default: break
            }
        }
        return bytes.count
    }

    /// The correct text of a reference, and the index behind its original text.
    private static func reference(_ bytes: [UInt8], at start: Int) -> (text: [UInt8], end: Int) {
        let plain = (Array("&amp;".utf8), start + 1)
        let name = bytes[(start + 1)...].prefix(12).prefix {
            $0.isASCIILetter || (0x30...0x39).contains($0) || $0 == 0x23
        }
        guard name.endIndex < bytes.count, bytes[name.endIndex] == UInt8(ascii: ";"), let first = name.first else {
            return plain
        }
        let end = name.endIndex + 1
        guard first == UInt8(ascii: "#") else {
            if ["amp", "lt", "gt", "quot", "apos"].contains(where: { name.elementsEqual($0.utf8) }) {
                return (Array(bytes[start..<end]), end)
            }
            return EntityNames.character(name).map { ($0, end) } ?? plain
        }
        let digits = name.dropFirst()
        let isHex = digits.first == UInt8(ascii: "x") || digits.first == UInt8(ascii: "X")
        let text = String(decoding: isHex ? digits.dropFirst() : digits, as: UTF8.self)
        guard let value = UInt32(text, radix: isHex ? 16 : 10), !text.hasPrefix("+") else { return plain }
        // XML 1.0 §2.2 permits no other characters, not even as references.
        let isPermitted = value >= 0x20 && value != 0xfffe && value != 0xffff || [9, 10, 13].contains(value)
        guard isPermitted, Unicode.Scalar(value) != nil else { return (Array("\u{fffd}".utf8), end) }
        return (Array("&#\(value);".utf8), end)
    }
}
