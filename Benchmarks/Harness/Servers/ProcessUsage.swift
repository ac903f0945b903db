import Foundation

/// The resources that a process and its descendants use, as the kernel counts them in `/proc`.
struct ProcessUsage {
    /// The processor time of user and kernel since the start, in seconds.
    var cpuSeconds = 0.0
    /// The peak of the resident memory (`VmHWM`), in bytes. Pages that two processes share count twice.
    var peakBytes = 0
    /// The resident memory that belongs to no file (`RssAnon`), in bytes.
    var anonymousBytes = 0

    /// Adds up the resources of the process and its descendants.
    init(of process: Int32) {
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        var parents: [Int32: Int32] = [:]
        var seconds: [Int32: Double] = [:]
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let id = Int32(name), let fields = Self.statistics(of: id) else { continue }
            parents[id] = Int32(fields[1])
            // utime and stime, then cutime and cstime of children that ended and were waited for: see proc(5). The
            // indices count from the state.
            let spent = fields[11...14].compactMap(Double.init).reduce(0, +)
            seconds[id] = spent / ticks
        }
        for id in parents.keys where Self.isBelow(id, process, parents) {
            cpuSeconds += seconds[id] ?? 0
            let status = (try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)) ?? ""
            for line in status.split(separator: "\n") {
                if line.hasPrefix("VmHWM:") { peakBytes += Self.bytes(line) }
                if line.hasPrefix("RssAnon:") { anonymousBytes += Self.bytes(line) }
            }
        }
    }

    /// The fields of `/proc/ID/stat` behind the name. The name itself may contain spaces and parentheses.
    private static func statistics(of id: Int32) -> [Substring]? {
        guard let text = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        return fields.count > 14 ? fields : nil
    }

    private static func isBelow(_ id: Int32, _ ancestor: Int32, _ parents: [Int32: Int32]) -> Bool {
        var at = id
        while at != ancestor {
            guard let parent = parents[at], parent > 0 else { return false }
            at = parent
        }
        return true
    }

    /// The bytes that a line such as `VmHWM:   123 kB` states.
    private static func bytes(_ line: Substring) -> Int {
        let words = line.split(whereSeparator: \.isWhitespace)
        return words.count > 1 ? (Int(words[1]) ?? 0) * 1024 : 0
    }
}
