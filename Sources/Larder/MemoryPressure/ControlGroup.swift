import Foundation

/// A memory control group, as the kernel shows it: <https://docs.kernel.org/admin-guide/cgroup-v2.html#memory>,
/// <https://docs.kernel.org/admin-guide/cgroup-v1/memory.html>. Version 1 reports pressure through another interface,
/// which Larder does not read: of a group of version 1, Larder reads only the memory use.
struct ControlGroup: Equatable, Sendable {
    enum Version: Sendable {
        /// The hierarchy with the memory controller. Version 1 has several hierarchies.
        case one
        case two
    }

    var directory: String

    /// The group of a process, from the texts of `/proc/self/cgroup` and `/proc/self/mountinfo`; `nil` when the process
    /// has no group of that version, or the group's files are not visible here.
    init?(_ version: Version = .two, membership: String, mounts: String) {
        guard let path = Self.path(version, in: membership) else { return nil }
        for line in mounts.split(separator: "\n") {
            // 41 31 0:38 ROOT PLACE rw,relatime … - cgroup2 SOURCE rw,…
            let fields = line.split(separator: " ")
            guard let dash = fields.firstIndex(of: "-"), dash >= 6, Self.isMount(version, of: fields[(dash + 1)...])
            else { continue }
            let (root, place) = (Self.unescape(fields[3]), Self.unescape(fields[4]))
            // In a namespace of control groups, path and root are both `/`: the mount is the process's own group.
            guard let relative = Self.path(path, below: root) else { continue }
            directory = place + relative
            return
        }
        return nil
    }

    /// The path of a process's group; `nil`: none. `/` is the topmost group that is visible to the process.
    static func path(_ version: Version, in membership: String) -> String? {
        for line in membership.split(separator: "\n") {
            // 4:memory:/PATH or 0::/PATH
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { continue }
            switch version {
            case .one: if fields[1].split(separator: ",").contains("memory") { return String(fields[2]) }
            case .two: if fields[0] == "0", fields[1].isEmpty { return String(fields[2]) }
            }
        }
        return nil
    }

    private static func isMount(_ version: Version, of fields: ArraySlice<Substring>) -> Bool {
        switch version {
        case .one:
            fields.first == "cgroup" && fields.count > 2
                && fields[fields.startIndex + 2].split(separator: ",").contains("memory")
        case .two: fields.first == "cgroup2"
        }
    }

    private static func path(_ path: String, below root: String) -> String? {
        guard !path.split(separator: "/").contains("..") else { return nil }
        if path == root || path == "/" && root == "/" { return "" }
        if root == "/" { return path }
        return path.hasPrefix(root + "/") ? String(path.dropFirst(root.count)) : nil
    }

    /// Decodes a field of a mount table, where white space and backslashes are written as three octal digits.
    private static func unescape(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), let code = UInt8(String(rest.prefix(3)) ?? "", radix: 8) {
                bytes.append(code)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The counters in the file `memory.events`.
struct ControlGroupEvents: Equatable, Sendable {
    /// The number of times that the group exceeded `memory.high` or reached `memory.max`.
    var limits = 0
    /// The number of times that the group ran out of memory, plus the number of processes that the kernel then killed.
    var exhausted = 0

    init(_ text: String) {
        let counts = KernelText.numbers(text)
        limits = (counts["high"] ?? 0) + (counts["max"] ?? 0)
        exhausted = (counts["oom"] ?? 0) + (counts["oom_kill"] ?? 0)
    }
}

enum KernelText {
    /// A whole number on its own line; `nil` for any other text, such as `max`.
    static func number(_ text: String?) -> Int? {
        text.flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
    }

    /// The number behind each name at the beginning of a line.
    static func numbers(_ text: String) -> [String: Int] {
        var numbers: [String: Int] = [:]
        for line in text.split(separator: "\n") {
            let fields = line.split { $0 == " " || $0 == ":" }
            if fields.count >= 2, let number = Int(fields[1]) { numbers[String(fields[0])] = number }
        }
        return numbers
    }

    /// The pages that were swapped out and soon read back, from `memory.stat` or `/proc/vmstat`; 0 where the kernel
    /// does not count. Such reads prove that memory was too short; rereads of file pages do not.
    static func swapReads(_ counts: [String: Int]) -> Int {
        counts["total_workingset_refault_anon"] ?? counts["workingset_refault_anon"] ?? 0
    }

    /// Whether seven eighths of the machine's memory are taken, by `/proc/meminfo`, so that dropping pages of files
    /// will soon not help any more: <https://docs.kernel.org/filesystems/proc.html#meminfo>.
    static func isMachineHigh(_ text: String) -> Bool? {
        let counts = numbers(text)
        // The available memory includes most pages of files, and excludes swapping.
        guard let total = counts["MemTotal"], let available = counts["MemAvailable"] else { return nil }
        return available <= total / 8
    }

    /// The share of the last ten seconds, in percent, in which at least one process waited for memory.
    static func someAverage(_ text: String) -> Double? {
        for line in text.split(separator: "\n") where line.hasPrefix("some ") {
            let field = line.split(separator: " ").first { $0.hasPrefix("avg10=") }
            return field.flatMap { Double($0.dropFirst(6)) }
        }
        return nil
    }
}

/// The memory use of a control group, in bytes. A group that reads and writes files fills its limit with pages of
/// files. The kernel can drop these pages and read them again, and counts the drops. This is normal and no pressure.
struct ControlGroupUse: Equatable, Sendable {
    /// The lowest limit that the group's files state; `nil`: no limit.
    var limit: Int?
    var current: Int
    /// The part of ``current`` that is pages of files.
    var files: Int
    var swapReads: Int

    /// `nil` without such files, as in the root group of version 2 and in a group without the memory controller.
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

    /// Whether other pages than pages of files take 7/8 of the limit. Then dropping pages of files soon fails to help.
    var isHigh: Bool {
        guard let limit else { return false }
        return current - files >= limit / 8 * 7
    }

    /// Whether the group has hardly any pages of files. If such a group waits for memory, its limit or the limit of a
    /// hidden group is reached, or the machine dropped the pages. A smaller memory tier is better than a kill.
    var hasFewFiles: Bool { files < current / 16 }
}
