import Foundation
import Primitives

/// The metrics that Prometheus expects from every program:
/// <https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics>. A value that the system does not
/// provide is left out (some sandboxes have no `/proc`).
struct ProcessMetrics {
    /// User and system time.
    let cpuSeconds: Double
    /// In bytes.
    let memory: (resident: Int, virtual: Int)?
    let openDescriptors: Int?
    let maxDescriptors: Int?
    /// Since 1970.
    let startSeconds: Double?

    init() {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        cpuSeconds = Self.seconds(usage.ru_utime) + Self.seconds(usage.ru_stime)
        let pages = Self.words(of: "/proc/self/statm").prefix(2).compactMap { Int($0) }
        memory =
            pages.count == 2 ? (pages[1] * sysconf(Int32(_SC_PAGESIZE)), pages[0] * sysconf(Int32(_SC_PAGESIZE))) : nil
        // The descriptor that lists the folder does not count.
        openDescriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")).map { $0.count - 1 }
        var limit = rlimit()
        let code = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        maxDescriptors = code == 0 ? Int(clamping: limit.rlim_cur) : nil
        startSeconds = Self.startSeconds
    }

    func write(into text: inout PrometheusText) {
        text.counter("process_cpu_seconds_total", "User and system CPU time of the process, in seconds.", cpuSeconds)
        text.gauge("process_resident_memory_bytes", "Resident memory of the process, in bytes.", memory?.resident)
        text.gauge("process_virtual_memory_bytes", "Virtual memory of the process, in bytes.", memory?.virtual)
        text.gauge("process_open_fds", "Open files and sockets.", openDescriptors)
        text.gauge("process_max_fds", "Limit of open files and sockets.", maxDescriptors)
        text.gauge("process_start_time_seconds", "Start time of the process, in seconds since 1970.", startSeconds)
    }

    /// By proc(5): field 22 of `stat` counts clock ticks since the machine started, and `btime` is the start time of
    /// the machine.
    private static let startSeconds: Double? = {
        // The second field is the program's name in parentheses, which may itself contain spaces and parentheses.
        let status = (try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8)) ?? ""
        let fields = (status.split(separator: ")").last ?? "").split(separator: " ")
        let system = (try? String(contentsOfFile: "/proc/stat", encoding: .utf8)) ?? ""
        let boot = system.split(separator: "\n").first { $0.hasPrefix("btime ") }?.split(separator: " ").last
        guard fields.count > 19, let ticks = Double(fields[19]), let boot = boot.flatMap({ Double($0) }) else {
            return nil
        }
        return boot + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }()

    private static func words(of path: String) -> [Substring] {
        ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split { $0 == " " || $0 == "\n" }
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
}
