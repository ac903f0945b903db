import Primitives

/// URLs to be kept: one a line, behind it, if need be, a space and for how long, as `3600` or `1h`. Empty lines, and
/// what stands behind a `#` at the beginning of a word, are left out.
///
///     # the catalogue
///     https://shop.example/catalogue.json 3600
///     https://shop.example/logo.png
public struct WarmList: Sendable {
    /// One line.
    public struct Item: Hashable, Sendable {
        /// Its number, from 1.
        public let line: Int
        /// The URL as it is written there.
        public let url: String
        /// How long it stays fresh; `nil` when the line does not say.
        public let ttl: Seconds?
    }

    /// A line that cannot be read.
    public struct Mistake: Hashable, Sendable {
        /// Its number, from 1.
        public let line: Int
        /// What is wrong with it.
        public let reason: String
    }

    /// The lines in their order.
    public private(set) var items: [Item] = []
    /// Those that cannot be read.
    public private(set) var mistakes: [Mistake] = []

    /// Reads a list in UTF-8; a line ends in LF, or in CR and LF.
    public init(_ bytes: some Collection<UInt8>) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() { add(Array(line), number: index + 1) }
    }

    private mutating func add(_ line: [UInt8], number: Int) {
        let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") }
            .prefix { $0.first != UInt8(ascii: "#") }
        guard let first = words.first else { return }
        func mistake(_ reason: String) { mistakes.append(Mistake(line: number, reason: reason)) }
        guard let url = String(validating: first, as: UTF8.self) else { return mistake("it is not UTF-8") }
        guard first.count <= CanonicalURL.maximumLength else {
            return mistake("the URL is longer than \(CanonicalURL.maximumLength) bytes")
        }
        guard words.count <= 2 else { return mistake("there is more than a URL and a duration") }
        var ttl: Seconds?
        if words.count == 2 {
            let text = String(decoding: words[1], as: UTF8.self)
            ttl = Seconds(text)
            guard ttl != nil else {
                return mistake(
                    "\"\(text)\" is no number of seconds, and none with a unit, such as \(DurationText.examples)")
            }
        }
        items.append(Item(line: number, url: url, ttl: ttl))
    }
}
