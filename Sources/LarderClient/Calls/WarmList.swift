import Primitives

/// A list of URLs to download and keep. Each line has a URL and, optionally, a space and the time for which the entry
/// stays fresh, such as `3600` or `1h`. Empty lines, and comments from a `#` at the beginning of a word on, are left
/// out.
///
///     # the catalogue
///     https://shop.example/catalogue.json 3600
///     https://shop.example/logo.png
package struct WarmList: Sendable {
    package struct Item: Hashable, Sendable {
        /// From 1.
        package let line: Int
        /// As the line states it.
        package let url: String
        package let ttl: Seconds?
    }

    package struct Mistake: Hashable, Sendable {
        package let line: Int
        package let reason: String
    }

    package private(set) var items: [Item] = []
    package private(set) var mistakes: [Mistake] = []

    /// Reads a list in UTF-8. A line ends in LF or CRLF.
    package init(_ bytes: some Collection<UInt8>) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() { add(Array(line), number: index + 1) }
    }

    private mutating func add(_ line: [UInt8], number: Int) {
        let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") }
            .prefix { $0.first != UInt8(ascii: "#") }
        guard let first = words.first else { return }
        func mistake(_ reason: String) { mistakes.append(Mistake(line: number, reason: reason)) }
        guard let url = String(validating: first, as: UTF8.self) else { return mistake("the line is not UTF-8") }
        guard first.count <= CanonicalURL.maximumLength else {
            return mistake("the URL is longer than \(CanonicalURL.maximumLength) bytes")
        }
        guard words.count <= 2 else { return mistake("the line has more than a URL and a duration") }
        var ttl: Seconds?
        if words.count == 2 {
            let text = String(decoding: words[1], as: UTF8.self)
            ttl = Seconds(text)
            guard ttl != nil else {
                return mistake(
                    "\"\(text)\" is not a duration; expected a number of seconds, or a number with a unit, such as "
                        + "\(DurationText.examples)")
            }
        }
        items.append(Item(line: number, url: url, ttl: ttl))
    }
}
