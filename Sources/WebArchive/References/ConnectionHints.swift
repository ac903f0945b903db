import Primitives

/// Takes the effect of `rel=preconnect` and similar words away, anywhere in a document. A Content-Security-Policy has
/// no effect on them, and a malformed document can hide a tag from this module but not from a browser. So the search
/// reads no tags: each `rel=` counts, also in comments and scripts. A word keeps its length, and so creates no other
/// markup.
enum ConnectionHints {
    private static let words: Set<String> = [
        "preconnect", "dns-prefetch", "prefetch", "prerender", "search", "compression-dictionary",
    ]

    static func fixes(in bytes: Span<UInt8>) -> [MarkupReferences.Fix] {
        var fixes: [MarkupReferences.Fix] = []
        var ends = ValueEnds()
        var index = 0
        // Values can contain each other: `rel=rel=…`. Each byte is read once, because a value begins and ends beside
        // bytes that belong to no word and to no character reference.
        var readEnd = 0
        while let sign = bytes.firstIndex(of: UInt8(ascii: "="), from: index) {
            index = sign + 1
            var name = sign
            while name > 0, bytes[name - 1].isSpace { name -= 1 }
            guard name >= 3, bytes.hasPrefix(ignoringCase: "rel", at: name - 3) else { continue }
            let value = ends.value(from: bytes.skippingSpace(from: index), in: bytes)
            guard value.upperBound > readEnd else { continue }
            let text = DecodedText.attribute(max(value.lowerBound, readEnd)..<value.upperBound, of: bytes)
            readEnd = value.upperBound
            for word in hints(in: text.bytes.span) {
                let place = text.widenedPlace(of: word)
                fixes.append(.init(range: place, replacement: Array(repeating: UInt8(ascii: "x"), count: place.count)))
            }
        }
        return fixes
    }

    private static func hints(in text: Span<UInt8>) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var start = 0
        for index in 0...text.count where index == text.count || !(text[index].isLetter || text[index] == 0x2d) {
            if index > start, words.contains(text.text(start..<index).lowercased()) { found.append(start..<index) }
            start = index + 1
        }
        return found
    }

    /// Finds the ends of values. Remembers the next ends, so that many values without an end take no longer.
    private struct ValueEnds {
        private var next = [UInt8: Int]()

        mutating func value(from start: Int, in bytes: Span<UInt8>) -> Range<Int> {
            guard start < bytes.count else { return start..<start }
            let quote = bytes[start]
            let isQuoted = quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'")
            let (first, key) = isQuoted ? (start + 1, quote) : (start, 0)
            if let known = next[key], known >= first { return first..<known }
            var end = first
            if isQuoted {
                end = bytes.firstIndex(of: quote, from: first) ?? bytes.count
            } else {
                while end < bytes.count, !bytes[end].isSpace, bytes[end] != UInt8(ascii: ">") { end += 1 }
            }
            next[key] = end
            return first..<end
        }
    }
}
