import Foundation

/// The number of files and sockets that the process may have open at once: the soft limit `RLIMIT_NOFILE`.
package enum DescriptorLimit {
    /// The current limit, at most 2^30; 1,024 when the system does not report it.
    package static var current: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        return Int(min(limit.rlim_cur, 1 << 30))
    }
}
