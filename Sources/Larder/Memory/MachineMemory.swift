/// How much memory the machine has, and how much of it can be had: `/proc/meminfo`,
/// <https://docs.kernel.org/filesystems/proc.html#meminfo>.
struct MachineMemory: Equatable, Sendable {
    /// In KiB.
    var total: Int
    /// What can be had without swapping, in KiB; most pages of files are part of it.
    var available: Int

    init?(_ text: String) {
        var found: [Substring: Int] = [:]
        for line in text.split(separator: "\n") {
            let fields = line.split(whereSeparator: { $0 == " " || $0 == ":" })
            if fields.count >= 2 { found[fields[0]] = Int(fields[1]) }
        }
        guard let total = found["MemTotal"], let available = found["MemAvailable"] else { return nil }
        (self.total, self.available) = (total, available)
    }

    /// Whether so much is taken that dropping pages of files will soon not help any more: seven eighths.
    var isHigh: Bool { available <= total / 8 }
}
