/// Reads texts of feeds that contain HTML.
enum MarkupText {
    /// Returns the text of a piece of HTML: without tags, comments, scripts and styles, with decoded references.
    static func plain(_ html: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(html.count)
        var index = 0
        /// The element that hides its text, until its end tag.
        var hidden: [UInt8] = []
        while index < html.count {
            let byte = html[index]
            if byte == UInt8(ascii: "<"), let tag = tag(in: html, at: index) {
                if hidden.isEmpty, !tag.isEnd, isHidden(tag.name) {
                    hidden = tag.name
                } else if tag.isEnd, tag.name == hidden {
                    hidden = []
                }
                index = tag.end
            } else if byte == UInt8(ascii: "&"), hidden.isEmpty, let (text, end) = reference(in: html, at: index) {
                output += text
                index = end
            } else {
                if hidden.isEmpty { output.append(byte) }
                index += 1
            }
        }
        return output
    }

    /// Whether a text that is nominally plain contains HTML: it has an end tag or a reference, and all its tags and
    /// references are those of HTML. Feeds of RSS do not tell.
    static func looksLikeHTML(_ text: [UInt8]) -> Bool {
        var hasSign = false
        for index in text.indices {
            if text[index] == UInt8(ascii: "<") {
                let isEnd = index + 1 < text.count && text[index + 1] == UInt8(ascii: "/")
                let name = text[(index + (isEnd ? 2 : 1))...].prefix(20).prefix(while: \.isWord)
                guard !name.isEmpty else { continue }
                guard elements.contains(String(decoding: name, as: UTF8.self).lowercased()) else { return false }
                if isEnd, name.endIndex < text.count, text[name.endIndex] == UInt8(ascii: ">") { hasSign = true }
            } else if text[index] == UInt8(ascii: "&") {
                let isNumber = index + 1 < text.count && text[index + 1] == UInt8(ascii: "#")
                let name = text[(index + (isNumber ? 2 : 1))...].prefix(20).prefix(while: \.isWord)
                guard !name.isEmpty, name.endIndex < text.count, text[name.endIndex] == UInt8(ascii: ";") else {
                    continue
                }
                guard isNumber || EntityNames.character(name) != nil else { return false }
                hasSign = true
            }
        }
        return hasSign
    }

    /// Returns the text with each run of white space as a single space, without white space at its ends. A character
    /// reference to a control character means the character of Windows-1252, as in browsers.
    static func normalized(_ text: [UInt8]) -> String {
        var output = String.UnicodeScalarView()
        var isAfterSpace = true
        for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
            if scalar == " " || (0x09...0x0d).contains(scalar.value) {
                if !isAfterSpace { output.append(" ") }
                isAfterSpace = true
            } else {
                output.append(windows(scalar))
                isAfterSpace = false
            }
        }
        if output.last == " " { output.removeLast() }
        return String(output)
    }

    private static func windows(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        guard (0x80...0x9f).contains(scalar.value) else { return scalar }
        return Unicode.Scalar(windowsCodes[Int(scalar.value) - 0x80]) ?? scalar
    }

    private static let windowsCodes: [UInt32] = [
        0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d,
        0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0x9d,
        0x17e, 0x178,
    ]

    /// Whether an element has text that no reader sees.
    static func isHidden(_ name: [UInt8]) -> Bool {
        ["script", "style", "applet"].contains { name.elementsEqual($0.utf8) }
    }

    /// The tag, comment or declaration at an index; `nil` if the character is a plain less-than sign.
    private static func tag(in html: [UInt8], at start: Int) -> (name: [UInt8], isEnd: Bool, end: Int)? {
        guard start + 1 < html.count else { return nil }
        if html[start...].starts(with: "<!--".utf8) {
            var index = start + 4
            while index + 2 < html.count, !html[index...].starts(with: "-->".utf8) { index += 1 }
            return ([], false, index + 2 < html.count ? index + 3 : html.count)
        }
        let isEnd = html[start + 1] == UInt8(ascii: "/")
        let begin = start + (isEnd ? 2 : 1)
        guard begin < html.count else { return nil }
        let isDeclaration = html[begin] == UInt8(ascii: "!") || html[begin] == UInt8(ascii: "?")
        guard html[begin].isASCIILetter || isDeclaration else { return nil }
        let name = html[begin...].prefix(while: \.isWord).map { $0 | 0x20 }
        var quote: UInt8?
        for index in begin..<html.count {
            let byte = html[index]
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                // Only a quote that begins a value counts.
                if html[index - 1] == UInt8(ascii: "=") { quote = byte }
            } else if byte == UInt8(ascii: ">") {
                return (name, isEnd, index + 1)
            }
        }
        return (name, isEnd, html.count)
    }

    private static func reference(in html: [UInt8], at start: Int) -> (text: [UInt8], end: Int)? {
        let name = html[(start + 1)...].prefix(12).prefix { $0.isWord || $0 == UInt8(ascii: "#") }
        guard name.endIndex < html.count, html[name.endIndex] == UInt8(ascii: ";") else { return nil }
        let end = name.endIndex + 1
        guard name.first == UInt8(ascii: "#") else {
            if name.elementsEqual("apos".utf8) { return (Array("'".utf8), end) }
            return EntityNames.character(name).map { ($0, end) }
        }
        let digits = name.dropFirst()
        let isHex = digits.first.map { $0 | 0x20 } == UInt8(ascii: "x")
        let text = String(decoding: isHex ? digits.dropFirst() : digits, as: UTF8.self)
        guard let value = UInt32(text, radix: isHex ? 16 : 10), let scalar = Unicode.Scalar(value), value > 0 else {
            return nil
        }
        return (Array(UTF8.encode(scalar)!), end)
    }

    /// The elements that a text of a feed may contain.
    private static let elements = Set(elementNames.split(separator: " ").map(String.init))
    private static let elementNames = """
        a abbr acronym address area article aside audio b big blockquote br button canvas caption center cite code \
        col colgroup command datagrid datalist dd del details dfn dialog dir div dl dt em event-source fieldset \
        figcaption figure font footer form h1 h2 h3 h4 h5 h6 header hr i img input ins kbd keygen label legend li m \
        map menu meter multicol nav nextid noscript ol optgroup option output p pre progress q s samp section select \
        small sound source spacer span strike strong sub sup table tbody td textarea tfoot th thead time tr tt u ul \
        var video
        """
}

extension UInt8 {
    fileprivate var isWord: Bool { isASCIILetter || (0x30...0x39).contains(self) || self == UInt8(ascii: "_") }
}
