import Foundation
import Primitives

/// Escapes text from outside, so that it can neither forge a line or a value, nor control a terminal.
enum LogText {
    /// Escapes invisible characters and backslashes as in a Swift string.
    static func words(_ text: String) -> String { escaped(text, and: []) }

    /// Escapes a value, and quotes the value if a reader could take it for several values.
    static func value(_ text: String) -> String {
        let isPlain =
            !text.isEmpty && !text.unicodeScalars.contains { $0 == "\"" || $0 == "=" || $0.properties.isWhitespace }
        return isPlain ? escaped(text, and: []) : "\"" + escaped(text, and: ["\""]) + "\""
    }

    /// Escapes invisible characters, which occur only in strings, so that the JSON keeps its meaning.
    static func json(_ json: JSON) -> String {
        json.text.unicodeScalars.map { scalar in
            guard isHidden(scalar) else { return String(scalar) }
            return String(scalar).utf16.map { String(format: "\\u%04x", $0) }.joined()
        }.joined()
    }

    /// The loop runs over scalars, because a carriage return and a line feed form a single `Character`.
    private static func escaped(_ text: String, and others: Set<Unicode.Scalar>) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result += "\\n".unicodeScalars
            case "\r": result += "\\r".unicodeScalars
            case "\t": result += "\\t".unicodeScalars
            case "\\": result += "\\\\".unicodeScalars
            case _ where others.contains(scalar): result += "\\\(scalar)".unicodeScalars
            case _ where isHidden(scalar): result += "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars
            default: result.append(scalar)
            }
        }
        return String(result)
    }

    /// Whether a scalar is a control character, ends a line, or changes the direction of the text behind it.
    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        [.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
    }
}
