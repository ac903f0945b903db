import DiskCache
import Logging
import Origin

/// Everything an operator can choose, with its default. The table of names, texts and parsers is ``Setting/all``.
public struct Configuration: Equatable, Sendable {
    /// The address to listen on. Default: `127.0.0.1`.
    public var host = "127.0.0.1"
    /// The TCP port to listen on; 0 takes any that is free. Default: 8080.
    public var port: UInt16 = 8080
    /// The PEM file of the certificate that TLS is spoken with, and of those that lead to its authority; `nil`: no TLS.
    /// Default: `nil`.
    public var tlsCertificate: String?
    /// The PEM file of its private key. Default: `nil`.
    public var tlsKey: String?
    /// The PEM file of the authorities that callers' own certificates must be signed by; `nil`: none are asked for.
    /// Default: `nil`.
    public var tlsClientAuthority: String?
    /// The file of tokens, see ``TokenFile``; `nil`: none are asked for. Default: `nil`.
    public var tokensFile: String?
    /// Whether everybody who can reach the server may do everything, without tokens. Default: no; on loopback it is so
    /// all the same.
    public var isOpen = false
    /// Host names that the server is asked by without tokens, beside `localhost` and ``host``; elsewhere than on
    /// loopback none means any. Default: none.
    public var allowedHosts: [String] = []
    /// The origins whose web pages may use the API; `*` for all. Default: none.
    public var corsOrigins: [String] = []
    /// Connections that one client address may have at once; 0: any number. Default: `nil`, see
    /// ``connectionsPerClient(of:)``.
    public var maxConnectionsPerClient: Int?
    /// Clients that may listen to events at once. Default: `nil`, see ``listeners(of:)``.
    public var maxListeners: Int?
    /// Of these, how many one client address may be; 0: any number. Default: `nil`, see ``listenersPerClient(of:)``.
    public var maxListenersPerClient: Int?
    /// A port for probes and metrics alone, which need no token and no TLS there; `nil`: none. Default: `nil`.
    public var adminPort: UInt16?
    /// The cache directory, absolute. Default: `$XDG_CACHE_HOME/larder`, else `~/.cache/larder`; empty means that.
    public var directory = ""
    /// How bodies are kept. Default: `hashed` in a release build, `readable` in a debug build.
    public var layout: Layout = Configuration.defaultLayout
    /// How long an entry stays fresh when neither the caller nor the origin says. Default: 7 days.
    public var defaultTTL: Duration = .seconds(604_800)
    /// Bytes that the memory tier may hold. Default: 256 MiB.
    public var memoryLimit = 256 << 20
    /// Bytes that entries may take on disk. Default: 10 GiB.
    public var diskLimit = 10 << 30
    /// How much of the file system stays free. Default: 5 %.
    public var diskReserve = DiskReserve.percent(5)
    /// Bytes that one body may have. Default: 1 GiB.
    public var entryLimit = 1 << 30
    /// Bodies up to this many bytes share one file, the slab (hashed layout). Default: 16 KiB.
    public var inlineLimit = 16 << 10
    /// What of all that was acknowledged survives what. Default: `process`.
    public var durability = Durability.process
    /// Downloads that run at once; more wait. Default: 512.
    public var maxDownloads = 512
    /// Downloads that run at once from one host and port. Default: 128.
    public var maxDownloadsPerHost = 128
    /// Origins that may be reached although their address is not globally routable, or their port is another. Default:
    /// none.
    public var allowedOrigins: [AddressRule] = []
    /// Origins that are refused whatever else lets them through. Default: none.
    public var deniedOrigins: [AddressRule] = []
    /// The ports of origins that may be asked; with the scheme ftp 21, too. Default: 80 and 443.
    public var originPorts = AddressPolicy.defaultPorts
    /// A PEM file of certificate authorities that origins may be signed by, beside the system's; `nil` for none.
    /// Default: `nil`.
    public var originAuthority: String?
    /// URL schemes that may be downloaded. Default: http and https.
    public var schemes: Set<String> = ["http", "https"]
    /// How long the server goes on taking new requests after SIGTERM. Default: 0.
    public var drainDelay: Duration = .zero
    /// How long requests in flight may take to finish after that. Default: 30 s.
    public var drainTimeout: Duration = .seconds(30)
    /// The least severe level that is logged. Default: `info`.
    public var logLevel: Logger.Level = .info
    /// How a log line looks; `nil` is text on a terminal, else JSON. Default: `nil`.
    public var logFormat: LogFormat?

    /// How a log line looks.
    public enum LogFormat: String, Sendable, CaseIterable {
        case text, json
    }

    /// The defaults.
    public init() {}

    #if DEBUG
        static let defaultLayout = Layout.readable
    #else
        static let defaultLayout = Layout.hashed
    #endif

    /// The host and a port as they stand in a URL: an IPv6 address in brackets (RFC 3986 §3.2.2), the `%` before its
    /// zone escaped (RFC 6874 §2).
    ///
    /// - Parameter port: the one that is listened on, which ``port`` and ``adminPort`` may have left to the system.
    public func authority(port: UInt16) -> String {
        host.contains(":") ? "[\(host.replacing("%", with: "%25"))]:\(port)" : "\(host):\(port)"
    }

    /// The caches folder that backups skip: `$XDG_CACHE_HOME/larder`, else `$HOME/.cache/larder`; `nil` when neither
    /// variable is set. A relative `XDG_CACHE_HOME` is ignored, as the XDG Base Directory Specification demands.
    static func defaultDirectory(environment: [String: String]) -> String? {
        if let base = environment["XDG_CACHE_HOME"], base.hasPrefix("/") { return base + "/larder" }
        if let home = environment["HOME"], !home.isEmpty { return home + "/.cache/larder" }
        return nil
    }
}
