import DiskCache
import Logging
import Origin

/// All options of an operator, with their defaults. Sizes are in bytes. ``Setting/all`` is the table of names, parsers
/// and help texts, which explain the options.
package struct Configuration: Equatable, Sendable {
    package var host = "127.0.0.1"
    package var port: UInt16 = 8080
    /// `nil`: no TLS.
    package var tlsCertificate: String?
    package var tlsKey: String?
    /// `nil`: callers need no certificate.
    package var tlsClientAuthority: String?
    /// A ``TokenFile``; `nil`: requests need no token.
    package var tokensFile: String?
    /// Whether a server without tokens accepts every request. On loopback it always does.
    package var isOpen = false
    /// The host names under which requests without tokens may address the server, beside `localhost` and ``host``.
    /// Elsewhere than on loopback an empty list admits all names.
    package var allowedHosts: [String] = []
    package var corsOrigins: [String] = []
    /// 0: any number; `nil`: see ``connectionsPerClient(of:)``.
    package var maxConnectionsPerClient: Int?
    /// `nil`: see ``listeners(of:)``.
    package var maxListeners: Int?
    /// 0: any number; `nil`: see ``listenersPerClient(of:)``.
    package var maxListenersPerClient: Int?
    /// `nil`: none.
    package var adminPort: UInt16?
    /// An absolute path. Empty: `$XDG_CACHE_HOME/larder`, else `~/.cache/larder`.
    package var directory = ""
    package var layout: Layout = Configuration.defaultLayout
    package var defaultTTL: Duration = .seconds(604_800)
    package var memoryLimit = 256 << 20
    package var diskLimit = 10 << 30
    package var diskReserve = DiskReserve.percent(5)
    package var entryLimit = 1 << 30
    package var inlineLimit = 16 << 10
    package var durability = Durability.process
    package var maxDownloads = 512
    package var maxDownloadsPerHost = 128
    package var allowedOrigins: [AddressRule] = []
    package var deniedOrigins: [AddressRule] = []
    package var originPorts = AddressPolicy.defaultPorts
    /// `nil`: only the system's authorities.
    package var originAuthority: String?
    package var schemes: Set<String> = ["http", "https"]
    package var drainDelay: Duration = .zero
    package var drainTimeout: Duration = .seconds(30)
    package var logLevel: Logger.Level = .info
    /// `nil`: text on a terminal, else JSON.
    package var logFormat: LogFormat?

    package enum LogFormat: String, Sendable, CaseIterable {
        case text, json
    }

    package init() {}

    #if DEBUG
        static let defaultLayout = Layout.readable
    #else
        static let defaultLayout = Layout.hashed
    #endif

    /// In the form of a URL: an IPv6 address is in brackets (RFC 3986 §3.2.2), and the `%` before its zone is escaped
    /// (RFC 6874 §2). The system may have chosen the port.
    package func authority(port: UInt16) -> String {
        host.contains(":") ? "[\(host.replacing("%", with: "%25"))]:\(port)" : "\(host):\(port)"
    }

    /// The directory in the user's caches folder, which backups skip; `nil` when neither variable is set. A relative
    /// `XDG_CACHE_HOME` is ignored, as the XDG Base Directory Specification demands.
    static func defaultDirectory(environment: [String: String]) -> String? {
        if let base = environment["XDG_CACHE_HOME"], base.hasPrefix("/") { return base + "/larder" }
        if let home = environment["HOME"], !home.isEmpty { return home + "/.cache/larder" }
        return nil
    }
}
