import Glibc
import Primitives

/// Limits and permissions of an ``OriginClient``.
package struct OriginConfiguration: Sendable {
    /// The values that ``schemes`` may contain.
    static let possibleSchemes: Set<String> = ["http", "https", "ftp"]

    /// The time limit for look-up, connecting and TLS together, for each connection; 10 s by default.
    package var connectTimeout: Duration = .seconds(10)
    /// The time for which an origin may send no byte; 30 s by default.
    package var stallTimeout: Duration = .seconds(30)
    /// The time limit for a whole transfer, including redirects and retries and without the time in the queue; 1 h
    /// by default.
    package var totalTimeout: Duration = .seconds(3600)
    /// The time limit for each wait in the queue; `nil`, the default, is no limit.
    package var queueTimeout: Duration?
    /// The maximum number of redirects that a transfer follows; 10 by default.
    package var maxRedirects = 10
    /// The number of transfers that run at once; further transfers wait in the queue. 512 by default.
    package var maxTransfers = 512
    /// The number of transfers that run at once to the same scheme, host and port; 128 by default.
    package var maxTransfersPerHost = 128
    /// The number of threads that run transfers, each with its own connections. The default is one thread per
    /// processor, at most four; a value below 1 counts as 1.
    package var threads = max(1, min(4, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) {
        didSet { threads = max(1, threads) }
    }
    /// The allowed schemes of URLs and redirects, out of `http`, `https` and `ftp`; `http` and `https` by default.
    /// While libcurl waits for some replies of an FTP control connection, it serves no other transfer of the
    /// thread, for ``stallTimeout`` at most. Therefore allow FTP only for servers that respond reliably.
    package var schemes: Set<String> = ["http", "https"]
    /// The addresses to which the client may connect; by default, globally routable addresses on ports 80 and 443.
    package var addressPolicy = AddressPolicy()
    /// The sockets on which this process listens; the client never connects to them. Empty by default.
    package var ownSockets = OwnSockets()
    /// A PEM file of certificate authorities to trust in addition to the system's authorities; `nil`, the default,
    /// adds none.
    package var certificateAuthorityFile: String?
    package var retry = RetryPolicy()
    /// The `User-Agent` of requests without their own.
    package var userAgent = "Larder"

    /// Fixed DNS results in the format of `CURLOPT_RESOLVE` (`host:port:address,address`), for tests of names with
    /// several addresses. The address policy applies to these addresses, too.
    var lookUps: [String] = []

    /// The clock for all limits except ``connectTimeout``, which libcurl measures; a test can replace it.
    var now: @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }

    package init() {}

    func allows(_ scheme: String) -> Bool {
        schemes.contains(scheme) && Self.possibleSchemes.contains(scheme)
    }
}
