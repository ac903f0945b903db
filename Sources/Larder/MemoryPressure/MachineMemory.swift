/// From `/proc/meminfo`, in KiB: <https://docs.kernel.org/filesystems/proc.html#meminfo>.
struct MachineMemory: Equatable, Sendable {
    var total: Int
    /// Without swapping. It includes most pages of files.
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

    /// Whether seven eighths of the memory or more are not available, so that dropping pages of files will soon not
    /// help any more.
    var isHigh: Bool { available <= total / 8 }
}
