import Foundation

/// The memory use of a control group, in bytes. A group that reads and writes files fills its limit with their pages.
/// The kernel can drop and read them again, and counts each time that it drops some. This is normal and no pressure.
struct ControlGroupUse: Equatable, Sendable {
    /// The lowest limit that the group's files state; `nil`: no limit.
    var limit: Int?
    var current: Int
    /// The part of ``current`` that is pages of files.
    var files: Int
    var swapReads: Int

    /// `nil` when the files are missing, as in the root group of version 2 and in a group without the memory
    /// controller.
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
            // Version 1 writes the greatest number of whole pages for "no limit". The lowest limit includes the limits
            // of the groups above.
            let lowest = counts["hierarchical_memory_limit"] ?? KernelText.number(file("memory.limit_in_bytes"))
            limit = lowest.flatMap { $0 > Int.max / 2 ? nil : $0 }
            self.current = current
            files = (counts["total_active_file"] ?? 0) + (counts["total_inactive_file"] ?? 0)
        } else {
            return nil
        }
    }

    /// Whether memory that is not pages of files takes seven eighths of the limit or more, so that dropping such pages
    /// will soon not help any more.
    var isHigh: Bool {
        guard let limit else { return false }
        return current - files >= limit / 8 * 7
    }

    /// Whether the group has hardly any pages of files to drop. If its processes wait for memory then, the group has
    /// reached a limit, perhaps of a group that is not visible here. The machine may have dropped the few pages of
    /// files, too; the answer is wrong then, but a smaller memory tier is better than a killed process.
    var hasFewFiles: Bool { files < current / 16 }
}
