extension String {
    /// 2 for each wide character, such as Chinese or emoji (UAX #11, UTS #51), 0 for combining marks.
    var columns: Int { reduce(0) { $0 + $1.columns } }

    /// Dots replace the middle, because the beginning of a URL names the host, and the end distinguishes the resources.
    func shortened(toColumns limit: Int) -> String {
        guard columns > limit else { return self }
        let dots = "..."
        guard limit > dots.count else { return prefix(columns: limit) }
        let kept = limit - dots.count
        let end = String(String(reversed()).prefix(columns: kept / 2).reversed())
        return prefix(columns: kept - kept / 2) + dots + end
    }

    func prefix(columns limit: Int) -> String {
        var left = limit
        return String(
            prefix { character in
                left -= character.columns
                return left >= 0
            })
    }
}

extension Character {
    /// The width of the character's first scalar; a symbol with an emoji variation selector is wide.
    fileprivate var columns: Int {
        guard let first = unicodeScalars.first else { return 0 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        let isEmoji = first.properties.isEmojiPresentation || unicodeScalars.contains("\u{fe0f}")
        return isEmoji || Self.wide.contains { $0.contains(first.value) } ? 2 : 1
    }

    /// The blocks of wide or full-width characters in UAX #11.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115f, 0x2e80...0x303e, 0x3041...0x4dbf, 0x4e00...0xa4cf, 0xa960...0xa97f, 0xac00...0xd7a3,
        0xf900...0xfaff, 0xfe10...0xfe19, 0xfe30...0xfe6f, 0xff00...0xff60, 0xffe0...0xffe6, 0x16fe0...0x18aff,
        0x1b000...0x1b2ff, 0x20000...0x3fffd,
    ]
}
