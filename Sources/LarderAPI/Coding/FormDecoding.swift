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
        let (plus, space) = (UInt8(ascii: "+"), UInt8(ascii: " "))
        return PercentEscape.decode(bytes.lazy.map { plusIsSpace && $0 == plus ? space : $0 })
            .flatMap { String(validating: $0, as: UTF8.self) }
    }
}
