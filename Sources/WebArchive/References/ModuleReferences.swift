import Primitives

/// Finds the modules that a JavaScript module imports by a string: `import … from "…"`, `import "…"`,
/// `export … from "…"` and `import("…")`. Reads comments, strings, templates and regular expressions well enough that
/// their text is no import. A wrong guess costs one request of a capture.
package struct ModuleReferences {
    private var specifiers: [String] = []
    private var position = 0
    /// The kind of the last token, which tells a division from a regular expression, and an import from a property.
    private var last = Token.other
    /// For each open brace: whether it belongs to `${` of a template.
    private var braces: [Bool] = []
    /// For each open bracket: whether it belongs to `if`, `for`, `while` or `with`, behind which an expression begins.
    private var brackets: [Bool] = []

    private enum Token { case importWord, fromWord, controlWord, value, dot, importCall, other }

    /// The specifiers as written, in the order of the module, without duplicates.
    package static func specifiers(in bytes: Span<UInt8>) -> [String] {
        var module = ModuleReferences()
        module.scan(bytes)
        var seen: Set<String> = []
        return module.specifiers.filter { seen.insert($0).inserted }
    }

    private mutating func scan(_ bytes: Span<UInt8>) {
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "/"): slash(bytes)
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                let text = string(bytes)
                if last == .importWord || last == .fromWord || last == .importCall { specifiers.append(text) }
                last = .value
            case UInt8(ascii: "`"):
                position += 1
                template(bytes)
            case UInt8(ascii: "{"):
                braces.append(false)
                position += 1
                last = .other
            case UInt8(ascii: "}"):
                position += 1
                last = .other
                if braces.popLast() == true { template(bytes) }
            case UInt8(ascii: "("):
                position += 1
                brackets.append(last == .controlWord)
                last = last == .importWord ? .importCall : .other
            case UInt8(ascii: ")"):
                position += 1
                last = brackets.popLast() == true ? .other : .value
            case UInt8(ascii: "]"):
                position += 1
                last = .value
            case UInt8(ascii: "."):
                position += 1
                last = .dot
            case _ where byte.isWordByte: word(bytes)
            case _ where byte.isSpace: position += 1
            default:
                position += 1
                last = .other
            }
        }
    }

    private mutating func word(_ bytes: Span<UInt8>) {
        let start = position
        while position < bytes.count, bytes[position].isWordByte { position += 1 }
        guard last != .dot else {
            last = .value
            return
        }
        switch position - start {
        case 6 where bytes.hasPrefix("import", at: start): last = .importWord
        case 4 where bytes.hasPrefix("from", at: start): last = .fromWord
        case 6 where bytes.hasPrefix("return", at: start) || bytes.hasPrefix("typeof", at: start): last = .other
        case 2 where bytes.hasPrefix("if", at: start): last = .controlWord
        case 3 where bytes.hasPrefix("for", at: start): last = .controlWord
        case 5 where bytes.hasPrefix("while", at: start): last = .controlWord
        case 4 where bytes.hasPrefix("with", at: start): last = .controlWord
        case 4 where bytes.hasPrefix("case", at: start) || bytes.hasPrefix("else", at: start): last = .other
        default: last = .value
        }
    }

    private mutating func slash(_ bytes: Span<UInt8>) {
        if bytes.hasPrefix("//", at: position) {
            position = bytes.firstIndex(of: UInt8(ascii: "\n"), from: position) ?? bytes.count
        } else if bytes.hasPrefix("/*", at: position) {
            position = bytes.end(of: "*/", from: position + 2) ?? bytes.count
        } else if last == .value {
            position += 1
            last = .other
        } else {
            regularExpression(bytes)
            last = .value
        }
    }

    private mutating func regularExpression(_ bytes: Span<UInt8>) {
        position += 1
        var isInClass = false
        while position < bytes.count, bytes[position] != UInt8(ascii: "\n") {
            let byte = bytes[position]
            position += byte == UInt8(ascii: "\\") ? 2 : 1
            if byte == UInt8(ascii: "[") { isInClass = true }
            if byte == UInt8(ascii: "]") { isInClass = false }
            if byte == UInt8(ascii: "/"), !isInClass { return }
        }
    }

    /// Reads the string at ``position``. Its escapes are not decoded, because URLs have none.
    private mutating func string(_ bytes: Span<UInt8>) -> String {
        let quote = bytes[position]
        position += 1
        let start = position
        while position < bytes.count, bytes[position] != quote, bytes[position] != UInt8(ascii: "\n") {
            position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        let end = min(position, bytes.count)
        position = min(end + 1, bytes.count)
        return bytes.text(start..<end)
    }

    /// Reads a template up to its end or to `${`.
    private mutating func template(_ bytes: Span<UInt8>) {
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "`") {
                position += 1
                last = .value
                return
            }
            if bytes.hasPrefix("${", at: position) {
                position += 2
                braces.append(true)
                last = .other
                return
            }
            position += byte == UInt8(ascii: "\\") ? 2 : 1
        }
    }
}

extension UInt8 {
    fileprivate var isWordByte: Bool {
        isAlphanumeric || self == UInt8(ascii: "_") || self == UInt8(ascii: "$") || self >= 0x80
    }
}
