/// A piece of HTML. A literal is markup. An interpolated `String` is text and is escaped: no part of it becomes markup,
/// neither between tags nor in a quoted attribute.
///
///     let item: HTML = "<li title=\"\(words)\">\(words)</li>"
struct HTML: Hashable, Sendable, ExpressibleByStringInterpolation {
    /// The markup.
    private(set) var text: String

    init(stringLiteral markup: String) { text = markup }

    init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }

    static func + (first: HTML, second: HTML) -> HTML {
        var sum = first
        sum += second
        return sum
    }

    static func += (html: inout HTML, more: HTML) { html.text += more.text }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + 32 * interpolationCount)
        }

        mutating func appendLiteral(_ markup: String) { text += markup }

        mutating func appendInterpolation(_ words: String) { text += HTML.escaped(words) }

        mutating func appendInterpolation(_ html: HTML) { text += html.text }
    }

    private static func escaped(_ words: String) -> String {
        var text = ""
        text.reserveCapacity(words.utf8.count)
        for scalar in words.unicodeScalars {
            switch scalar {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "\"": text += "&quot;"
            case "'": text += "&#39;"
            // HTML documents must not contain these control characters, escaped or not.
            case "\u{0}"..."\u{8}", "\u{B}", "\u{C}", "\u{E}"..."\u{1F}", "\u{7F}": text += "\u{FFFD}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

extension Sequence<HTML> {
    /// Returns all pieces as one, with the separator between each two. The default separator is empty.
    func joined(separator: HTML = "") -> HTML {
        var html: HTML = ""
        for (index, piece) in enumerated() {
            if index > 0 { html += separator }
            html += piece
        }
        return html
    }
}
