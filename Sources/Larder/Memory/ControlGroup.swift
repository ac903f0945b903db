import Foundation

/// A memory control group of version 2, as the kernel shows it:
/// <https://docs.kernel.org/admin-guide/cgroup-v2.html#memory>. (Of version 1, which reports pressure in another way,
/// nothing is read.)
struct ControlGroup: Equatable, Sendable {
    /// Where its files are.
    var directory: String

    init(directory: String) {
        self.directory = directory
    }

    /// The group of a process; `nil` when it is in none of version 2, or its files are not to be seen from here.
    ///
    /// - Parameters:
    ///   - membership: the text of `/proc/self/cgroup`.
    ///   - mounts: the text of `/proc/self/mountinfo`.
    init?(membership: String, mounts: String) {
        guard let path = membership.split(separator: "\n").first(where: { $0.hasPrefix("0::") })?.dropFirst(3)
        else { return nil }
        for line in mounts.split(separator: "\n") {
            // 41 31 0:38 ROOT PLACE rw,relatime … - cgroup2 …
            let fields = line.split(separator: " ")
            guard let dash = fields.firstIndex(of: "-"), dash >= 6, fields.count > dash + 1,
                fields[dash + 1] == "cgroup2"
            else { continue }
            let (root, place) = (Self.unescape(fields[3]), Self.unescape(fields[4]))
            // In a namespace of control groups both are `/`: then the process's group is the one that is mounted.
            guard let relative = Self.path(String(path), below: root) else { continue }
            directory = place + relative
            return
        }
        return nil
    }

    /// `path` without the prefix `root`; `nil` when it is not below it.
    private static func path(_ path: String, below root: String) -> String? {
        guard !path.split(separator: "/").contains("..") else { return nil }
        if path == root || path == "/" && root == "/" { return "" }
        if root == "/" { return path }
        return path.hasPrefix(root + "/") ? String(path.dropFirst(root.count)) : nil
    }

    /// Mount tables write white space and backslashes as three octal digits.
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

/// How often a group came to its limits: the file `memory.events`.
struct ControlGroupEvents: Equatable, Sendable {
    /// Its memory went over `memory.high`, or came to `memory.max`.
    var limits = 0
    /// It could get no more.
    var exhausted = 0

    init(_ text: String) {
        let counts = KernelText.numbers(text)
        limits = (counts["high"] ?? 0) + (counts["max"] ?? 0)
        exhausted = (counts["oom"] ?? 0) + (counts["oom_kill"] ?? 0)
    }
}

/// How much of a group's memory is taken by what cannot be read from files once more.
///
/// A group that reads and writes files fills its limit with their pages, and the kernel counts each time that it has
/// to drop some: that is how it should be, and no pressure.
struct ControlGroupUse: Equatable, Sendable {
    /// The lower of the limits, in bytes; `nil`: there is none.
    var limit: Int?
    /// All that is counted against it.
    var current: Int
    /// The part of it that are pages of files.
    var files: Int

    /// - Parameters: the texts of `memory.high`, `memory.max`, `memory.current` and `memory.stat`.
    init?(high: String?, max: String?, current: String?, statistics: String?) {
        guard let current = KernelText.number(current), let statistics else { return nil }
        let counts = KernelText.numbers(statistics)
        limit = [high, max].compactMap(KernelText.number).min()
        self.current = current
        files = (counts["active_file"] ?? 0) + (counts["inactive_file"] ?? 0)
    }

    /// What the files in a group's directory say; `nil` when they are not there, as in the root's.
    init?(of directory: String) {
        let file = { (name: String) in try? String(contentsOfFile: directory + "/" + name, encoding: .utf8) }
        self.init(
            high: file("memory.high"), max: file("memory.max"), current: file("memory.current"),
            statistics: file("memory.stat"))
    }

    /// Whether so much is taken that dropping pages of files will soon not help any more: seven eighths.
    var isHigh: Bool {
        guard let limit else { return false }
        return current - files >= limit / 8 * 7
    }
}

/// Texts as the kernel writes them.
enum KernelText {
    /// A whole number on a line of its own; `nil` for anything else, such as `max`.
    static func number(_ text: String?) -> Int? {
        text.flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
    }

    /// `name number`, one a line.
    static func numbers(_ text: String) -> [String: Int] {
        var numbers: [String: Int] = [:]
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ")
            if fields.count == 2, let number = Int(fields[1]) { numbers[String(fields[0])] = number }
        }
        return numbers
    }

    /// The share of the last ten seconds, in percent, in which some process waited for memory, in a file as
    /// `/proc/pressure/memory`.
    static func someAverage(_ text: String) -> Double? {
        for line in text.split(separator: "\n") where line.hasPrefix("some ") {
            let field = line.split(separator: " ").first { $0.hasPrefix("avg10=") }
            return field.flatMap { Double($0.dropFirst(6)) }
        }
        return nil
    }
}
