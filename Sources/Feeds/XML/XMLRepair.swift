/// Corrects common errors of feeds that would make a document ill-formed: ampersands that begin no reference, character
/// references of HTML without a declaration, and control characters.
enum XMLRepair {
    /// Returns the corrected document. CDATA sections, comments, instructions and the DOCTYPE keep their bytes, except
    /// for control characters, which become spaces. The result has at most five times the bytes. Throws ``SourceFault``
    /// for a tag with more attributes than the limit, because expat collects all attributes before it passes them on.
    static func repaired(_ document: [UInt8], attributeLimit: Int) throws(SourceFault) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(document.count + document.count / 16)
        var index = 0
        /// The end of the section that keeps its ampersands.
        var keptUntil = 0
        var tag = XMLTagScan(limit: attributeLimit)
        while index < document.count {
            let byte = document[index]
            if byte < 0x20, byte != 0x09, byte != 0x0a, byte != 0x0d {
                output.append(0x20)
            } else if index < keptUntil {
                output.append(byte)
            } else if byte == UInt8(ascii: "&") {
                index = appendReference(document, at: index, to: &output)
                continue
            } else {
                if byte == UInt8(ascii: "<") {
                    if let end = endOfSection(document, at: index) { keptUntil = end } else { tag.begin() }
                } else {
                    try tag.take(byte)
                }
                output.append(byte)
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
        // The hyphens of "<!-->" do not end the comment. Behind the other beginnings, no end can overlap them.
        var index = start + (text[0] == UInt8(ascii: "-") ? 4 : 2)
        while index + text.count <= bytes.count {
            if bytes[index] == text[0], bytes[index..<index + text.count].elementsEqual(text) {
                return index + text.count
            }
            index += 1
        }
        return bytes.count
    }

    /// An internal subset is enclosed in brackets. Literals, comments and instructions may contain any of these
    /// characters.
    private static func endOfDoctype(_ bytes: [UInt8], at start: Int) -> Int {
        var depth = 0
        var quote: UInt8?
        var index = start + 1
        while index < bytes.count {
            let byte = bytes[index]
            if let open = quote {
                if byte == open { quote = nil }
            } else {
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "'"): quote = byte
                case UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "]"): depth -= 1
                case UInt8(ascii: ">") where depth <= 0: return index + 1
                case UInt8(ascii: "<"):
                    if !bytes[index...].starts(with: "<!DOCTYPE".utf8), let end = endOfSection(bytes, at: index) {
                        index = end
                        continue
                    }
                default: break
                }
            }
            index += 1
        }
        return bytes.count
    }

    /// Appends the correct text of a reference, and returns the index behind its original text.
    private static func appendReference(_ bytes: [UInt8], at start: Int, to output: inout [UInt8]) -> Int {
        let name = bytes[(start + 1)...].prefix(12).prefix {
            $0.isASCIILetter || (0x30...0x39).contains($0) || $0 == 0x23
        }
        guard name.endIndex < bytes.count, bytes[name.endIndex] == UInt8(ascii: ";"), let first = name.first else {
            output += "&amp;".utf8
            return start + 1
        }
        let end = name.endIndex + 1
        guard first == UInt8(ascii: "#") else {
            if ["amp", "lt", "gt", "quot", "apos"].contains(where: { name.elementsEqual($0.utf8) }) {
                output += bytes[start..<end]
                return end
            }
            let character = EntityNames.character(name)
            output += character ?? Array("&amp;".utf8)
            return character == nil ? start + 1 : end
        }
        let digits = name.dropFirst()
        let isHex = digits.first == UInt8(ascii: "x") || digits.first == UInt8(ascii: "X")
        let text = String(decoding: isHex ? digits.dropFirst() : digits, as: UTF8.self)
        guard let value = UInt32(text, radix: isHex ? 16 : 10), !text.hasPrefix("+") else {
            output += "&amp;".utf8
            return start + 1
        }
        // XML 1.0 §2.2 permits no other characters, not even as references.
        let isPermitted = value >= 0x20 && value != 0xfffe && value != 0xffff || [9, 10, 13].contains(value)
        let isCharacter = isPermitted && Unicode.Scalar(value) != nil
        output += isCharacter ? Array("&#\(value);".utf8) : Array("\u{fffd}".utf8)
        return end
    }
}

/// Counts the attributes of the tag that is being read. In a tag that expat accepts, each equals sign outside a value
/// belongs to an attribute, and a less-than sign begins another tag.
private struct XMLTagScan {
    let limit: Int
    private var isOpen = false
    private var quote: UInt8?
    private var count = 0

    init(limit: Int) {
        self.limit = limit
    }

    mutating func begin() {
        (isOpen, quote, count) = (true, nil, 0)
    }

    mutating func take(_ byte: UInt8) throws(SourceFault) {
        guard isOpen else { return }
        if let open = quote {
            if byte == open { quote = nil }
            return
        }
        switch byte {
        case UInt8(ascii: ">"): isOpen = false
        case UInt8(ascii: "\""), UInt8(ascii: "'"): quote = byte
        case UInt8(ascii: "="):
            count += 1
            guard count <= limit else { throw SourceFault("an element has over \(limit) attributes") }
        default: break
        }
    }
}
