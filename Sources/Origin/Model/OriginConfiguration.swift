import Glibc
import Primitives

/// Limits and permissions of an ``OriginClient``.
package struct OriginConfiguration: Sendable {
    /// The values that ``schemes`` may contain.
    static let possibleSchemes: Set<String> = ["http", "https", "ftp"]
    /// The time limit for DNS look-up, connecting and TLS together, for each connection.
    package var connectTimeout: Duration = .seconds(10)
    /// The longest time without bytes from or to the origin. Pauses for the receiver or the upload do not count.
    package var stallTimeout: Duration = .seconds(30)
    /// The time limit for a whole transfer with its redirects and retries; the time in the queue does not count.
    package var totalTimeout: Duration = .seconds(3600)
    /// The time limit for each wait in the queue; `nil` is no limit.
    package var queueTimeout: Duration?
    package var maxRedirects = 10
    /// The number of transfers that run at once; further transfers wait in the queue.
    package var maxTransfers = 512
    /// The number of transfers that run at once to the same scheme, host and port.
    package var maxTransfersPerHost = 128
    /// The number of threads, at least 1, each with its own connections. By default one per processor, at most four.
    package var threads = max(1, min(4, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) {
        didSet { threads = max(1, threads) }
    }
    /// The allowed schemes, out of `http`, `https` and `ftp`. While libcurl waits for some replies of an FTP server,
    /// for ``stallTimeout`` at most, it serves no other transfer of the thread: allow FTP only for reliable servers.
    package var schemes: Set<String> = ["http", "https"]
    /// Allows, by default, globally routable addresses on ports 80 and 443.
    package var addressPolicy = AddressPolicy()
    package var ownSockets = OwnSockets()
    /// A PEM file of certificate authorities that are trusted in addition to the system's authorities.
    package var certificateAuthorityFile: String?
    package var retry = RetryPolicy()
    /// The `User-Agent` of requests that have none.
    package var userAgent = "Larder"
    /// DNS results for tests, as in `CURLOPT_RESOLVE` (`host:port:address,address`). ``addressPolicy`` applies to them.
    var lookUps: [String] = []
    /// The clock of all limits except ``connectTimeout``, which libcurl measures. A test can replace it.
    var now: @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }

    package init() {}

    func allows(_ scheme: String) -> Bool {
        schemes.contains(scheme) && Self.possibleSchemes.contains(scheme)
    }
}

/// Exponential back-off with jitter, for requests that failed before the first byte of a response.
package struct RetryPolicy: Sendable {
    /// The number of tries for a whole transfer, including its redirects; 1 disables retries.
    package var maximumTries: Int
    /// The longest pause before the second try. It doubles for each further try.
    package var baseDelay: Duration
    /// The longest pause before any try.
    package var maximumDelay: Duration
    /// Returns a random number from 0 to 1.
    package var random: @Sendable () -> Double = { Double.random(in: 0...1) }

    package static let never = RetryPolicy(maximumTries: 1)

    package init(
        maximumTries: Int = 3, baseDelay: Duration = .milliseconds(200), maximumDelay: Duration = .seconds(2)
    ) {
        self.maximumTries = maximumTries
        self.baseDelay = baseDelay
        self.maximumDelay = maximumDelay
    }

    /// The pause after `failures` failed tries (1 after the first try); `nil` when no further try follows. Half of the
    /// pause is fixed and half is random, so that requests that failed together are not all repeated at the same time.
    package func delay(afterFailures failures: Int) -> Duration? {
        guard failures < maximumTries, failures > 0 else { return nil }
        let full = min(baseDelay.inSeconds * Double(UInt64(1) << UInt64(min(failures - 1, 32))), maximumDelay.inSeconds)
        return .seconds(full / 2 + full / 2 * min(max(random(), 0), 1))
    }
}
