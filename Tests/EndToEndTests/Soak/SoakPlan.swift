import Foundation

/// What a run of the soak is to be, as the environment says that `scripts/soak` sets.
///
/// Memory's slope is judged in one long life, because a process that has just started grows for good reasons. So all
/// kills and drains come in the first quarter of the run, what follows is one life, and the slope is taken over its
/// last part: the last two thirds of the run.
struct SoakPlan: Sendable {
    /// How long the load lasts, in seconds.
    var duration: Double
    /// What every choice follows from. When things happen is the machine's: a run can be repeated in what it does, not
    /// in the order of its threads.
    var seed: UInt64
    /// The `larder` that is put under load.
    var executable: String
    /// The sanitizer that it was built with: `address` or `thread`.
    var sanitizer: String?

    /// `nil` when no run is asked for.
    static let asked: SoakPlan? = {
        let environment = ProcessInfo.processInfo.environment
        guard let minutes = environment["LARDER_SOAK_MINUTES"].flatMap({ Double($0) }), minutes > 0 else { return nil }
        return SoakPlan(
            duration: minutes * 60, seed: environment["LARDER_SOAK_SEED"].flatMap { UInt64($0) } ?? 1,
            executable: environment["LARDER_SOAK_EXECUTABLE"] ?? LarderProcess.executable,
            sanitizer: environment["LARDER_SOAK_SANITIZER"])
    }()

    /// When the last life begins, in seconds from the start.
    var stormEnd: Double { duration / 4 }
    /// From when on memory is measured.
    var measuredFrom: Double { duration / 3 }
    /// The most that memory may grow, in MiB a minute.
    static let slopeLimit = 1.0
    /// Whether that is judged: over less than three minutes a slope says more about the moment than about the server,
    /// and a sanitizer keeps what was freed.
    var judgesSlope: Bool { sanitizer == nil && duration - measuredFrom >= 180 }
    /// The most that may be resident at any moment of the run, in MiB; not judged with a sanitizer.
    static let residentLimit = 300

    /// Bodies by MD5 and in the slab, or a tree of files.
    var layout: String { seed.isMultiple(of: 2) ? "hashed" : "readable" }

    /// Everything is small, so that eviction never rests.
    var arguments: [String] {
        [
            "--layout", layout, "--memory-limit", "8MiB", "--disk-limit", "20MiB", "--disk-reserve", "1MiB",
            "--inline-limit", "8KiB", "--entry-limit", "2MiB", "--drain-timeout", "5", "--log-format", "json",
        ]
    }
    /// The size of the file system that fills up now and then.
    static let diskSize = "64m"
}
