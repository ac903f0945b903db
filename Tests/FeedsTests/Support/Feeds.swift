import Foundation

@testable import Feeds

/// Feeds and documents of the tests.
enum Sample {
    static func rss(_ items: String, channel: String = "", root: String = "<rss version=\"2.0\">") -> [UInt8] {
        Array("<?xml version=\"1.0\"?>\n\(root)<channel>\(channel)\(items)</channel></rss>".utf8)
    }

    static func atom(_ entries: String, attributes: String = "") -> [UInt8] {
        Array("<feed xmlns=\"http://www.w3.org/2005/Atom\" \(attributes)>\(entries)</feed>".utf8)
    }
}

/// The first item of a feed; `nil` for a feed without items, and for an unparsable answer.
func firstItem(_ body: [UInt8], url: String? = nil) -> FeedItem? {
    FeedParser.parse(body, url: url).content?.items.first
}

/// The peak of this process's resident memory, in bytes.
func peakMemory() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return (Int(line.filter(\.isNumber)) ?? 0) << 10
}
