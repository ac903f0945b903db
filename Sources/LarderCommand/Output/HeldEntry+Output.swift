import Foundation
import LarderClient

extension HeldEntry {
    /// The cells for a program, which always include the key.
    func cells(now: Date) -> [Cell] { [Cell(key)] + facts(now: now) + [Cell(url ?? "")] }

    static func shownTitles(width: Int) -> [String] {
        ["URL", "KIND", "STATE", "EXPIRES", "SIZE"] + (width < widthWithKeys ? [] : ["KEY"])
    }

    /// The cells for a person at a terminal with `width` columns. The first cell is the URL, or the key of an entry
    /// without a URL. On a wide terminal the key comes last.
    func shownCells(now: Date, width: Int) -> [Cell] {
        [Cell(url ?? key)] + facts(now: now) + (width < Self.widthWithKeys ? [] : [Cell(key)])
    }

    /// On a narrower terminal a key would leave too little room for the URL. Every command accepts the URL as well.
    private static let widthWithKeys = 120

    private func facts(now: Date) -> [Cell] {
        [Cell(kind), Cell(state), Cell(instant: expiryDate, now: now), Cell(bytes: contentLength)]
    }

    func add(to report: inout Report, now: Date) {
        if let url { report.add("url", url) }
        report.add("key", key)
        report.add("kind", kind)
        report.add("state", state)
        report.add("expires", Cell(instant: expiryDate, now: now))
        report.add("size", Cell(bytes: contentLength))
        if let contentType { report.add("type", contentType) }
        report.add("file", Cell(plain: localPath ?? "", words: localPath ?? "in the slab"))
        if !tags.isEmpty { report.add("tags", tags.joined(separator: ",")) }
        if isPinned { report.add("pinned", "yes") }
    }

    private var state: String { isFresh ? "fresh" : "stale" }
}
