/// Finds the URLs in a style sheet or in a list of declarations, as a browser reads them (CSS Syntax Module Level 3
/// §4): `url(…)` with and without quotes, the strings of `@import` and of `image-set(…)`, with comments and escapes.
/// The time is linear in the length of the text.
struct CSSScanner {
    /// A URL in the text, and its place.
    struct URL: Equatable {
        /// The URL with its escapes decoded.
        var text: String
        /// The bytes to replace: the string without its quotes, or the unquoted URL.
        var range: Range<Int>
        var isQuoted: Bool
        var isImport: Bool
    }

    /// An open function. Other brackets need no place here, because they contain no strings that are URLs.
    private enum Function: Equatable {
        case imageSet, source, type, other
        /// A function such as `var(…)` in the place of a URL, which begins at `start`. Its text may be at any place. So
        /// the whole function is a URL that this module cannot read. `urls`: the number of URLs in front of it.
        case substitution(start: Int, urls: Int)
    }

    private var urls: [URL] = []
    private var functions: [Function] = []
    /// The open `image-set(` and `type(` among ``functions``. Each string within an image set is a URL or the media
    /// type of one.
    private var (imageSets, types) = (0, 0)
    private var position = 0
    /// The text of a URL that this module cannot read.
    private static let unknown = "substitution:"

    static func urls(in bytes: Span<UInt8>) -> [URL] {
        var scanner = CSSScanner()
        scanner.scan(bytes)
        return scanner.urls
    }

    private mutating func scan(_ bytes: Span<UInt8>) {
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "/"):
                guard bytes.hasPrefix("/*", at: position) else {
                    position += 1
                    continue
                }
                position = bytes.end(of: "*/", from: position + 2) ?? bytes.count
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                let isURL = imageSets > 0 && types == 0
                if let url = string(in: bytes), isURL { add(url, isImport: false) }
            case UInt8(ascii: "@"): atRule(in: bytes)
            case UInt8(ascii: "#"):
                // A hash is a word that begins no function.
                position += 1
                _ = name(in: bytes)
            case UInt8(ascii: "<") where bytes.hasPrefix("<!--", at: position): position += 4
            case UInt8(ascii: "("):
                position += 1
                open(.other)
            case UInt8(ascii: ")"):
                position += 1
                close()
            case _ where byte.isCSSName || byte == UInt8(ascii: "\\"):
                word(in: bytes)
            default: position += 1
            }
        }
        while !functions.isEmpty { close() }
    }

    private mutating func open(_ function: Function) {
        functions.append(function)
        if function == .imageSet { imageSets += 1 }
        if function == .type { types += 1 }
    }

    private mutating func close() {
        guard let function = functions.popLast() else { return }
        if function == .imageSet { imageSets -= 1 }
        if function == .type { types -= 1 }
        if case .substitution(let start, let count) = function {
            urls.removeSubrange(count...)
            urls.append(URL(text: Self.unknown, range: start..<position, isQuoted: false, isImport: false))
        }
    }

    private mutating func add(_ url: (text: [UInt8], range: Range<Int>, isQuoted: Bool), isImport: Bool) {
        let text = String(decoding: url.text, as: UTF8.self)
        urls.append(URL(text: text, range: url.range, isQuoted: url.isQuoted, isImport: isImport))
    }

    /// Reads a name at ``position``, which may be empty, with its escapes.
    private mutating func name(in bytes: Span<UInt8>) -> (range: Range<Int>, hasEscape: Bool) {
        let start = position
        var hasEscape = false
        while position < bytes.count {
            if bytes[position].isCSSName {
                position += 1
            } else if bytes[position] == UInt8(ascii: "\\") {
                let backslash = position
                guard CSSEscape.skip(&position, in: bytes) else { return (start..<backslash, hasEscape) }
                hasEscape = true
            } else {
                break
            }
        }
        return (start..<position, hasEscape)
    }

    /// Reads a name or number at ``position``, and the beginning of a function.
    private mutating func word(in bytes: Span<UInt8>) {
        let (name, hasEscape) = name(in: bytes)
        guard name.upperBound == position, position < bytes.count, bytes[position] == UInt8(ascii: "(") else { return }
        position += 1
        if Self.isName("url", name, hasEscape, bytes) {
            if let url = url(in: bytes) { add(url, isImport: false) }
        } else if Self.isName("src", name, hasEscape, bytes) {
            source(in: bytes)
        } else if Self.isName("image-set", name, hasEscape, bytes)
            || Self.isName("-webkit-image-set", name, hasEscape, bytes)
        {
            open(.imageSet)
        } else if Self.isName("type", name, hasEscape, bytes) {
            open(.type)
        } else if takesURL, !Self.isGradient(name, bytes) {
            open(.substitution(start: name.lowerBound, urls: urls.count))
        } else {
            open(.other)
        }
    }

    /// Reads the first argument of `src(`. Unlike `url(`, it is an ordinary function: only a string is its URL.
    private mutating func source(in bytes: Span<UInt8>) {
        skipSpaceAndComments(in: bytes)
        let index = functions.count
        open(.source)
        if position < bytes.count, bytes[position] == UInt8(ascii: "\"") || bytes[position] == UInt8(ascii: "'") {
            if let url = string(in: bytes) { add(url, isImport: false) }
        } else if position < bytes.count, bytes[position].isCSSName || bytes[position] == UInt8(ascii: "\\") {
            word(in: bytes)
        }
        if index < functions.count { functions[index] = .other }
    }

    /// Whether an argument of the innermost function may be a URL that is no `url(`.
    private var takesURL: Bool { functions.last == .source || (functions.last == .imageSet && types == 0) }

    private static func isGradient(_ name: Range<Int>, _ bytes: Span<UInt8>) -> Bool {
        name.count >= 8 && bytes.hasPrefix(ignoringCase: "gradient", at: name.upperBound - 8)
    }

    private static func isName(_ name: StaticString, _ range: Range<Int>, _ hasEscape: Bool, _ bytes: Span<UInt8>)
        -> Bool
    {
        if !hasEscape {
            return range.count == name.utf8CodeUnitCount && bytes.hasPrefix(ignoringCase: name, at: range.lowerBound)
        }
        let text = CSSEscape.decode(range, of: bytes)
        return text.count == name.utf8CodeUnitCount && text.span.hasPrefix(ignoringCase: name, at: 0)
    }

    /// Reads the content of `url(` at ``position``, and the closing bracket. `nil` for a malformed URL, which browsers
    /// ignore.
    private mutating func url(in bytes: Span<UInt8>) -> (text: [UInt8], range: Range<Int>, isQuoted: Bool)? {
        position = bytes.skippingSpace(from: position)
        guard position < bytes.count else { return nil }
        if bytes[position] == UInt8(ascii: "\"") || bytes[position] == UInt8(ascii: "'") {
            let found = string(in: bytes)
            // Modifiers may follow the string.
            open(.other)
            return found
        }
        let start = position
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: ")") || byte.isSpace {
                let end = position
                position = bytes.skippingSpace(from: position)
                guard position == bytes.count || bytes[position] == UInt8(ascii: ")") else {
                    skipMalformedURL(in: bytes)
                    return nil
                }
                position = min(position + 1, bytes.count)
                return (CSSEscape.decode(start..<end, of: bytes), start..<end, false)
            }
            if byte == UInt8(ascii: "\\") {
                guard CSSEscape.skip(&position, in: bytes) else {
                    skipMalformedURL(in: bytes)
                    return nil
                }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "(")
                || (byte < 0x20 && byte != 0)
                || byte == 0x7f
            {
                skipMalformedURL(in: bytes)
                return nil
            } else {
                position += 1
            }
        }
        return (CSSEscape.decode(start..<position, of: bytes), start..<position, false)
    }

    private mutating func skipMalformedURL(in bytes: Span<UInt8>) {
        while position < bytes.count {
            let byte = bytes[position]
            if byte != UInt8(ascii: "\\") || !CSSEscape.skip(&position, in: bytes) { position += 1 }
            if byte == UInt8(ascii: ")") { return }
        }
    }

    /// Reads the string at ``position``. `nil` for a string that a line end breaks off.
    private mutating func string(in bytes: Span<UInt8>) -> (text: [UInt8], range: Range<Int>, isQuoted: Bool)? {
        let quote = bytes[position]
        position += 1
        let start = position
        while position < bytes.count, bytes[position] != quote {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") || byte == 0x0c { return nil }
            if byte == UInt8(ascii: "\\") {
                CSSEscape.skipInString(&position, in: bytes)
            } else {
                position += 1
            }
        }
        let end = min(position, bytes.count)
        position = min(end + 1, bytes.count)
        return (CSSEscape.decode(start..<end, of: bytes, isString: true), start..<end, true)
    }

    /// Reads the name of an at-rule, and the URL of `@import`. Skips the URL of `@namespace`, which is only a name, and
    /// the string of `@charset`.
    private mutating func atRule(in bytes: Span<UInt8>) {
        position += 1
        let (name, hasEscape) = name(in: bytes)
        if Self.isName("import", name, hasEscape, bytes) {
            skipSpaceAndComments(in: bytes)
            guard position < bytes.count else { return }
            if bytes[position] == UInt8(ascii: "\"") || bytes[position] == UInt8(ascii: "'") {
                if let url = string(in: bytes) { add(url, isImport: true) }
            } else {
                let count = urls.count
                if bytes[position].isCSSName || bytes[position] == UInt8(ascii: "\\") { word(in: bytes) }
                if urls.count > count { urls[count].isImport = true }
            }
        } else if functions.isEmpty,
            Self.isName("namespace", name, hasEscape, bytes) || Self.isName("charset", name, hasEscape, bytes)
        {
            let count = urls.count
            skipSpaceAndComments(in: bytes)
            while position < bytes.count, !";{}".utf8.contains(bytes[position]) {
                switch bytes[position] {
                case UInt8(ascii: "/"):
                    position += 1
                    if position < bytes.count, bytes[position] == UInt8(ascii: "*") {
                        position = bytes.end(of: "*/", from: position + 1) ?? bytes.count
                    }
                case UInt8(ascii: "\""), UInt8(ascii: "'"): _ = string(in: bytes)
                case _ where bytes[position].isCSSName || bytes[position] == UInt8(ascii: "\\"): word(in: bytes)
                case UInt8(ascii: ")"):
                    position += 1
                    close()
                default: position += 1
                }
            }
            functions = []
            (imageSets, types) = (0, 0)
            urls.removeSubrange(count...)
        }
    }

    private mutating func skipSpaceAndComments(in bytes: Span<UInt8>) {
        while true {
            position = bytes.skippingSpace(from: position)
            guard bytes.hasPrefix("/*", at: position) else { return }
            position = bytes.end(of: "*/", from: position + 2) ?? bytes.count
        }
    }
}

extension UInt8 {
    /// Letters, digits, `-`, `_`, and bytes of non-ASCII characters.
    @inline(__always)
    fileprivate var isCSSName: Bool { isLetter || self &- 0x30 < 10 || self == 0x2d || self == 0x5f || self >= 0x80 }
}
