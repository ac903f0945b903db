import Foundation

/// How many files and sockets the process may have open at once: the soft limit `RLIMIT_NOFILE`.
public enum DescriptorLimit {
    /// The limit as it is now; a very large one counts as 2^30, one that cannot be asked for as 1,024.
    public static var current: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        return Int(min(limit.rlim_cur, 1 << 30))
    }
}
