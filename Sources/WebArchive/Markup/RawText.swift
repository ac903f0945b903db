/// Finds the end of an element that contains text and no tags (WHATWG HTML §13.2.5.3 to §13.2.5.31).
enum RawText {
    /// Returns the index of the element's end tag, or the length of the document if the end tag is missing.
    /// `hasScriptEscapes`: a comment in a script can hide an end tag.
    static func end(of element: MarkupElement, from start: Int, hasScriptEscapes: Bool, in bytes: Span<UInt8>) -> Int {
        switch element {
        case .plaintext: return bytes.count
        case .script where hasScriptEscapes: return endOfScript(from: start, in: bytes)
        default: break
        }
        let name = element.rawValue
        var index = start
        while let open = bytes.firstIndex(of: UInt8(ascii: "<"), from: index) {
            if isTag(name, closing: true, at: open, in: bytes) { return open }
            index = open + 1
        }
        return bytes.count
    }

    /// A script that has begun a comment may contain another `<script>`. The end tag of the latter does not end the
    /// script.
    private enum State { case plain, escaped, doublyEscaped }

    private static func endOfScript(from start: Int, in bytes: Span<UInt8>) -> Int {
        var state = State.plain
        var index = start
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "<"):
                if isTag("script", closing: true, at: index, in: bytes) {
                    if state != .doublyEscaped { return index }
                    state = .escaped
                } else if state == .plain, bytes.hasPrefix("<!--", at: index) {
                    state = .escaped
                    // The dashes of `<!-->` and `<!--->` also end the comment.
                    index += 2
                    continue
                } else if state == .escaped, isTag("script", closing: false, at: index, in: bytes) {
                    state = .doublyEscaped
                }
                index += 1
            case UInt8(ascii: "-") where state != .plain && bytes.hasPrefix("-->", at: index):
                state = .plain
                index += 3
            default:
                guard state == .plain else {
                    index += 1
                    continue
                }
                guard let next = bytes.firstIndex(of: UInt8(ascii: "<"), from: index) else { return bytes.count }
                index = next
            }
        }
        return bytes.count
    }

    /// Whether a start or end tag with this name begins at `open`, and the name ends.
    private static func isTag(_ name: String, closing: Bool, at open: Int, in bytes: Span<UInt8>) -> Bool {
        var index = open + 1
        if closing {
            guard index < bytes.count, bytes[index] == UInt8(ascii: "/") else { return false }
            index += 1
        }
        for letter in name.utf8 {
            guard index < bytes.count, bytes[index].lowercased == letter else { return false }
            index += 1
        }
        guard index < bytes.count else { return false }
        return bytes[index].isSpace || bytes[index] == UInt8(ascii: "/") || bytes[index] == UInt8(ascii: ">")
    }
}
