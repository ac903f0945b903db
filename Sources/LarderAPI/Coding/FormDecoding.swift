import Primitives

/// Decodes application/x-www-form-urlencoded (WHATWG URL §5.1), but more strictly: a broken escape or invalid UTF-8 is
/// an error, not a replacement character.
enum FormDecoding {
    /// The subject is the source of the text, such as "query", for the error message.
    static func pairs(_ text: some StringProtocol, subject: String) throws(Problem) -> [(name: String, value: String)] {
        var pairs: [(name: String, value: String)] = []
        for part in text.utf8.split(separator: UInt8(ascii: "&")) {
            let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            let value = equals < part.endIndex ? part[part.index(after: equals)...] : part[part.endIndex...]
            guard let name = decode(part[..<equals], plusIsSpace: true), let value = decode(value, plusIsSpace: true)
            else {
                throw .invalid("the \(subject) has a broken percent-escape or is not UTF-8")
            }
            pairs.append((name, value))
        }
        return pairs
    }

    /// `nil` if an escape is broken or the result is not UTF-8.
    static func decode(_ bytes: some Sequence<UInt8>, plusIsSpace: Bool) -> String? {
        var output: [UInt8] = []
        var iterator = bytes.makeIterator()
        while let byte = iterator.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = iterator.next()?.hexDigitValue, let low = iterator.next()?.hexDigitValue else {
                    return nil
                }
                output.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: output.append(UInt8(ascii: " "))
            default: output.append(byte)
            }
        }
        return String(validating: output, as: UTF8.self)
    }
}
