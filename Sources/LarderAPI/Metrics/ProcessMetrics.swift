import Foundation
import Primitives

/// The metrics in <https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics>. A value that the
/// system does not provide is left out (some sandboxes have no `/proc`).
enum ProcessMetrics {
    static func write(into text: inout PrometheusText) {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        text.counter(
            "process_cpu_seconds_total", "User and system CPU time of the process, in seconds.",
            seconds(usage.ru_utime) + seconds(usage.ru_stime))
        // The virtual and the resident memory, in pages.
        let pages = contents(of: "/proc/self/statm").split(separator: " ").prefix(2).compactMap { Int($0) }
        let bytes = pages.map { $0 * sysconf(Int32(_SC_PAGESIZE)) }
        text.gauge(
            "process_resident_memory_bytes", "Resident memory of the process, in bytes.", bytes.dropFirst().first)
        text.gauge("process_virtual_memory_bytes", "Virtual memory of the process, in bytes.", bytes.first)
        // The descriptor that lists the folder does not count.
        let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count - 1
        text.gauge("process_open_fds", "Open files and sockets.", open)
        var limit = rlimit()
        let code = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        text.gauge(
            "process_max_fds", "Limit of open files and sockets.", code == 0 ? Int(clamping: limit.rlim_cur) : nil)
        text.gauge("process_start_time_seconds", "Start time of the process, in seconds since 1970.", startSeconds)
    }

    /// By proc(5): field 22 of `stat` counts clock ticks since `btime`, the start of the machine.
    private static let startSeconds: Double? = {
        // The second field is the program's name in parentheses, which may itself contain spaces and parentheses.
        let fields = (contents(of: "/proc/self/stat").split(separator: ")").last ?? "").split(separator: " ")
        let boot = contents(of: "/proc/stat").split(separator: "\n").first { $0.hasPrefix("btime ") }?
            .split(separator: " ").last
        guard fields.count > 19, let ticks = Double(fields[19]), let boot = boot.flatMap({ Double($0) }) else {
            return nil
        }
        return boot + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }()

    private static func contents(of path: String) -> String {
        (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
}
