import Glibc
import Primitives

extension OriginClient {
    /// Limits, and what is allowed.
    public struct Configuration: Sendable {
        /// How long look-up, connecting and TLS may take together, for each connection; 10 s by default.
        public var connectTimeout: Duration = .seconds(10)
        /// How long an origin may send nothing at all; 30 s by default.
        public var stallTimeout: Duration = .seconds(30)
        /// How long a transfer may take in all, redirects and retries included, waiting for its turn not; 1 h by
        /// default.
        public var totalTimeout: Duration = .seconds(3600)
        /// How long a transfer may wait for its turn, each time that it has to; `nil`, the default, is no limit.
        public var queueTimeout: Duration?
        /// How many redirects are followed; 10 by default.
        public var maxRedirects = 10
        /// How many transfers run at once; the others wait. 512 by default.
        public var maxTransfers = 512
        /// How many of them to the same scheme, host and port; 128 by default.
        public var maxTransfersPerHost = 128
        /// On how many threads transfers run, each with connections of its own. By default one a processor, at most
        /// four; below 1 is 1.
        public var threads = max(1, min(4, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) {
            didSet { threads = max(1, threads) }
        }
        /// The schemes of URLs and redirects, of which `http`, `https` and `ftp` are possible; `http` and `https` by
        /// default. Of FTP libcurl reads some answers of the control connection without serving other transfers
        /// meanwhile, for ``stallTimeout`` at most: allow it for servers that behave.
        public var schemes: Set<String> = ["http", "https"]
        /// Which addresses may be connected to; what is globally routable, on ports 80 and 443, by default.
        public var addressPolicy = AddressPolicy()
        /// What this process listens on, which is never connected to; nothing by default.
        public var ownSockets = OwnSockets()
        /// A PEM file of certificate authorities that are trusted beside the system's own; `nil`, the default, for
        /// none.
        public var certificateAuthorityFile: String?
        /// What is sent again, and when.
        public var retry = RetryPolicy()
        /// The `User-Agent`, unless a request brings its own.
        public var userAgent = "Larder"

        /// Answers that stand for DNS, as `CURLOPT_RESOLVE` takes them (`host:port:address,address`): how tests see
        /// what happens when a name has several addresses. The address policy holds for these as for any other.
        var lookUps: [String] = []

        /// The clock of all limits but ``connectTimeout``, which is libcurl's; a test may turn one of its own.
        var now: @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }

        /// The defaults.
        public init() {}
    }
}
