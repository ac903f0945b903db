import Primitives

/// Texts in a log line, and on a terminal, for people. What comes from elsewhere can neither forge a line nor another
/// value, nor tell a terminal what to do.
enum LogText {
    /// Words as they are, but for what does not show: that is written as in a Swift string, and so is a backslash.
    static func words(_ text: String) -> String { escaped(text, and: []) }

    /// A value: in quotes when it could be taken for more than one.
    static func value(_ text: String) -> String {
        let isPlain = !text.isEmpty && !text.unicodeScalars.contains { $0 == "\"" || $0 == "=" || isSpace($0) }
        return isPlain ? escaped(text, and: []) : "\"" + escaped(text, and: ["\""]) + "\""
    }

    /// JSON in one line: what does not show is escaped, which is only in strings, and so it stays the same JSON.
    static func json(_ json: JSON) -> String {
        var result = String.UnicodeScalarView()
        for scalar in json.text.unicodeScalars {
            guard isHidden(scalar) else {
                result.append(scalar)
                continue
            }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16)
                result += "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".unicodeScalars
            }
        }
        return String(result)
    }

    /// By scalars: a carriage return and the line feed after it are one character.
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

    /// Control characters, and those that end a line or change the direction of what follows.
    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace
    }
}
