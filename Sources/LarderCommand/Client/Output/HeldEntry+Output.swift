import Foundation
import LarderClient

extension HeldEntry {
    /// The titles of ``cells(now:)``.
    static let titles = ["KEY", "KIND", "STATE", "EXPIRES", "SIZE", "URL"]

    /// One line of a list.
    func cells(now: Date) -> [Cell] {
        [
            Cell(key), Cell(kind), Cell(state), Cell(instant: expiryDate, now: now), Cell(bytes: contentLength),
            Cell(url ?? ""),
        ]
    }

    /// What there is to say about it.
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
