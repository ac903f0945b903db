import Foundation

/// How much of a group's memory is taken by what cannot be read from files once more.
///
/// A group that reads and writes files fills its limit with their pages, and the kernel counts each time that it has
/// to drop some: that is how it should be, and no pressure.
struct ControlGroupUse: Equatable, Sendable {
    /// The lowest of the limits that its files tell of, in bytes; `nil`: there is none.
    var limit: Int?
    /// All that is counted against it.
    var current: Int
    /// The part of it that are pages of files.
    var files: Int
    /// See ``KernelText/swapReads(_:)``.
    var swapReads: Int

    /// What the files in a group's directory say; `nil` when they are not there: the root's of version 2, or a group
    /// for which nobody turned the memory controller on.
    init?(of directory: String) {
        let file = { (name: String) in try? String(contentsOfFile: directory + "/" + name, encoding: .utf8) }
        guard let statistics = file("memory.stat") else { return nil }
        let counts = KernelText.numbers(statistics)
        swapReads = KernelText.swapReads(counts)
        if let current = KernelText.number(file("memory.current")) {
            limit = [file("memory.high"), file("memory.max")].compactMap(KernelText.number).min()
            self.current = current
            files = (counts["active_file"] ?? 0) + (counts["inactive_file"] ?? 0)
        } else if let current = KernelText.number(file("memory.usage_in_bytes")) {
            // Version 1, where no limit is the greatest number of whole pages, and the lowest is that of the groups
            // that it is in, too.
            let lowest = counts["hierarchical_memory_limit"] ?? KernelText.number(file("memory.limit_in_bytes"))
            limit = lowest.flatMap { $0 > Int.max / 2 ? nil : $0 }
            self.current = current
            files = (counts["total_active_file"] ?? 0) + (counts["total_inactive_file"] ?? 0)
        } else {
            return nil
        }
    }

    /// Whether so much is taken that dropping pages of files will soon not help any more: seven eighths.
    var isHigh: Bool {
        guard let limit else { return false }
        return current - files >= limit / 8 * 7
    }

    /// Whether there are hardly pages of files that could be dropped. A group in which processes wait has come to a
    /// limit then, though it may be one that cannot be seen from here. (Or the machine has dropped the few that it had:
    /// of the two mistakes, a smaller memory tier is better than a process that is killed.)
    var hasFewFiles: Bool { files < current / 16 }
}
