import DiskCache
import Logging
import Origin

/// All options of an operator, with their defaults. ``Setting/all`` is the table of names, help texts and parsers.
package struct Configuration: Equatable, Sendable {
    /// The address to listen on. Default: `127.0.0.1`.
    package var host = "127.0.0.1"
    /// The TCP port to listen on; 0: the system chooses a free port. Default: 8080.
    package var port: UInt16 = 8080
    /// The PEM file of the server's TLS certificate and of the intermediate certificates; `nil`: no TLS. Default:
    /// `nil`.
    package var tlsCertificate: String?
    /// The PEM file of the certificate's private key. Default: `nil`.
    package var tlsKey: String?
    /// The PEM file of the authorities that must have signed callers' certificates; `nil`: callers need no certificate.
    /// Default: `nil`.
    package var tlsClientAuthority: String?
    /// The file of tokens, see ``TokenFile``; `nil`: requests need no token. Default: `nil`.
    package var tokensFile: String?
    /// Whether a server without tokens accepts every request on other addresses than loopback. Default: `false`. On
    /// loopback it always does.
    package var isOpen = false
    /// The host names under which requests without tokens may address the server, beside `localhost` and ``host``.
    /// Elsewhere than on loopback an empty list admits all names. Default: empty.
    package var allowedHosts: [String] = []
    /// The origins of web pages that may use the API; `*`: all. Default: empty.
    package var corsOrigins: [String] = []
    /// The most connections of one client address at once; 0: any number. Default: `nil`, see
    /// ``connectionsPerClient(of:)``.
    package var maxConnectionsPerClient: Int?
    /// The most clients that listen to events at once. Default: `nil`, see ``listeners(of:)``.
    package var maxListeners: Int?
    /// The most clients of one address that listen to events at once; 0: any number. Default: `nil`, see
    /// ``listenersPerClient(of:)``.
    package var maxListenersPerClient: Int?
    /// The additional port for probes and metrics only, without tokens and TLS; `nil`: none. Default: `nil`.
    package var adminPort: UInt16?
    /// The cache directory, an absolute path. Empty, the default, means `$XDG_CACHE_HOME/larder`, else
    /// `~/.cache/larder`.
    package var directory = ""
    /// The layout of bodies on disk. Default: `hashed` in a release build, `readable` in a debug build.
    package var layout: Layout = Configuration.defaultLayout
    /// The time for which an entry stays fresh when neither the caller nor the origin states a time. Default: 7 days.
    package var defaultTTL: Duration = .seconds(604_800)
    /// The most bytes in the memory tier. Default: 256 MiB.
    package var memoryLimit = 256 << 20
    /// The most bytes of entries on disk. Default: 10 GiB.
    package var diskLimit = 10 << 30
    /// The part of the file system that stays free. Default: 5 %.
    package var diskReserve = DiskReserve.percent(5)
    /// The most bytes of a body. Default: 1 GiB.
    package var entryLimit = 1 << 30
    /// The largest body, in bytes, that the hashed layout keeps in the slab, a shared file. Default: 16 KiB.
    package var inlineLimit = 16 << 10
    /// The failures that an acknowledged change survives. Default: `process`.
    package var durability = Durability.process
    /// The most downloads at once; further downloads wait. Default: 512.
    package var maxDownloads = 512
    /// The most downloads at once from one host and port. Default: 128.
    package var maxDownloadsPerHost = 128
    /// Rules for origins that may be contacted although their address is not globally routable or their port is not in
    /// ``originPorts``. Default: empty.
    package var allowedOrigins: [AddressRule] = []
    /// Rules for origins that are refused even if another rule admits them. Default: empty.
    package var deniedOrigins: [AddressRule] = []
    /// The ports of origins that may be contacted; with the scheme ftp also port 21. Default: 80 and 443.
    package var originPorts = AddressPolicy.defaultPorts
    /// A PEM file of certificate authorities that may sign origins' certificates, beside the system's; `nil`: none.
    /// Default: `nil`.
    package var originAuthority: String?
    /// URL schemes that may be downloaded. Default: http and https.
    package var schemes: Set<String> = ["http", "https"]
    /// The time for which the server accepts new requests after SIGTERM. Default: 0.
    package var drainDelay: Duration = .zero
    /// The time that requests in flight have to finish after that. Default: 30 s.
    package var drainTimeout: Duration = .seconds(30)
    /// The least severe level that is logged. Default: `info`.
    package var logLevel: Logger.Level = .info
    /// The format of log lines; `nil`: text on a terminal, else JSON. Default: `nil`.
    package var logFormat: LogFormat?

    /// The format of log lines.
    package enum LogFormat: String, Sendable, CaseIterable {
        case text, json
    }

    /// The default configuration.
    package init() {}

    #if DEBUG
        static let defaultLayout = Layout.readable
    #else
        static let defaultLayout = Layout.hashed
    #endif

    /// The host and a port in the form of a URL: an IPv6 address is in brackets (RFC 3986 §3.2.2), and the `%` before
    /// its zone is escaped (RFC 6874 §2).
    ///
    /// - Parameter port: the actual port, which the system may have chosen for ``port`` or ``adminPort``.
    package func authority(port: UInt16) -> String {
        host.contains(":") ? "[\(host.replacing("%", with: "%25"))]:\(port)" : "\(host):\(port)"
    }

    /// The directory in the user's caches folder, which backups skip: `$XDG_CACHE_HOME/larder`, else
    /// `$HOME/.cache/larder`; `nil` when neither variable is set. A relative `XDG_CACHE_HOME` is ignored, as the XDG
    /// Base Directory Specification demands.
    static func defaultDirectory(environment: [String: String]) -> String? {
        if let base = environment["XDG_CACHE_HOME"], base.hasPrefix("/") { return base + "/larder" }
        if let home = environment["HOME"], !home.isEmpty { return home + "/.cache/larder" }
        return nil
    }
}
