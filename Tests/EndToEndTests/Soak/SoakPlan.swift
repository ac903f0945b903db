import Foundation

/// The plan of a run of the soak, from the environment variables that `scripts/soak` sets.
///
/// The growth of memory is judged in a server process that runs long, because the caches of a new process still fill.
/// So all kills and drains come in the first quarter of the run. A single process runs in the other three quarters, and
/// the slope of its memory is measured over the last two thirds of the run.
struct SoakPlan: Sendable {
    /// The duration of the load, in seconds.
    var duration: Double
    /// The seed of every choice. The machine determines the timing: a run can be repeated in its actions, but not in
    /// the order of its threads.
    var seed: UInt64
    /// The `larder` executable under load.
    var executable: String
    /// The sanitizer that the executable was built with: `address` or `thread`; `nil` for none.
    var sanitizer: String?

    /// The plan of the requested run; `nil` when no run is requested.
    static let asked: SoakPlan? = {
        let environment = ProcessInfo.processInfo.environment
        guard let minutes = environment["LARDER_SOAK_MINUTES"].flatMap({ Double($0) }), minutes > 0 else { return nil }
        return SoakPlan(
            duration: minutes * 60, seed: environment["LARDER_SOAK_SEED"].flatMap { UInt64($0) } ?? 1,
            executable: environment["LARDER_SOAK_EXECUTABLE"] ?? LarderProcess.executable,
            sanitizer: environment["LARDER_SOAK_SANITIZER"])
    }()

    /// The beginning of the last process, in seconds from the start of the run.
    var stormEnd: Double { duration / 4 }
    /// The beginning of the measurement of memory, in seconds from the start.
    var measuredFrom: Double { duration / 3 }
    /// The highest permitted growth of memory, in MiB a minute.
    static let slopeLimit = 1.0
    /// Whether the growth is judged. A slope over less than three minutes is not judged, because it depends on chance.
    /// A slope with a sanitizer is not judged, because a sanitizer keeps freed memory.
    var judgesSlope: Bool { sanitizer == nil && duration - measuredFrom >= 180 }
    /// The highest permitted resident memory at any moment of the run, in MiB; not judged with a sanitizer.
    static let residentLimit = 300

    /// The layout: bodies by MD5 and in the slab for an even seed, a tree of files for an odd seed.
    var layout: String { seed.isMultiple(of: 2) ? "hashed" : "readable" }

    /// The arguments of the server. All limits are small, so that the server evicts entries all the time.
    var arguments: [String] {
        [
            "--layout", layout, "--memory-limit", "8MiB", "--disk-limit", "20MiB", "--disk-reserve", "1MiB",
            "--inline-limit", "8KiB", "--entry-limit", "2MiB", "--drain-timeout", "5", "--log-format", "json",
        ]
    }
    /// The size of the file system, which fills up now and then.
    static let diskSize = "64m"
}
