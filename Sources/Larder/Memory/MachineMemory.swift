/// How much memory the machine has, and how much of it can be had: `/proc/meminfo`,
/// <https://docs.kernel.org/filesystems/proc.html#meminfo>.
struct MachineMemory: Equatable, Sendable {
    /// In KiB.
    var total: Int
    /// What can be had without swapping, in KiB; most pages of files are part of it.
    var available: Int
    /// What is on the swap device, in KiB; also where that is compressed memory.
    var swapped: Int

    init?(_ text: String) {
        var found: [Substring: Int] = [:]
        for line in text.split(separator: "\n") {
            let fields = line.split(whereSeparator: { $0 == " " || $0 == ":" })
            if fields.count >= 2 { found[fields[0]] = Int(fields[1]) }
        }
        guard let total = found["MemTotal"], let available = found["MemAvailable"] else { return nil }
        (self.total, self.available) = (total, available)
        swapped = max(0, (found["SwapTotal"] ?? 0) - (found["SwapFree"] ?? 0))
    }

    /// Whether so much is taken that dropping pages of files will soon not help any more: seven eighths. What was
    /// swapped out is taken too: memory looks free because of it.
    var isHigh: Bool { available - swapped <= total / 8 }
}
