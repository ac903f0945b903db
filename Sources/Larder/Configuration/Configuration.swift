import Browser
import DiskCache
import Foundation
import Logging
import Origin
import Primitives

/// All options of an operator. Sizes are in bytes. ``Setting/all`` has their names, parsers and help texts.
package struct Configuration: Equatable, Sendable {
    package var host = "127.0.0.1"
    package var port: UInt16 = 8080
    /// `nil`: no TLS.
    package var tlsCertificate: String?
    package var tlsKey: String?
    /// `nil`: callers need no certificate.
    package var tlsClientAuthority: String?
    /// The path of a ``TokenFile``; `nil`: requests need no token.
    package var tokensFile: String?
    /// Whether a server without tokens accepts every request. On loopback, such a server always does.
    package var isOpen = false
    /// Without tokens: names for `Host`, beside `localhost` and ``host``. `[]`: on loopback no others, elsewhere any.
    package var allowedHosts: [String] = []
    package var corsOrigins: [String] = []
    /// 0: any number; `nil`: see ``connectionsPerClient(of:)``.
    package var maxConnectionsPerClient: Int?
    /// `nil`: see ``listeners(of:)``.
    package var maxListeners: Int?
    /// 0: any number; `nil`: see ``listenersPerClient(of:)``.
    package var maxListenersPerClient: Int?
    /// `nil`: the server has no admin port.
    package var adminPort: UInt16?
    /// An absolute path. Empty: `$XDG_CACHE_HOME/larder`, else `~/.cache/larder`.
    package var directory = ""
    /// An absolute path for data that is no cache; `nil`: `$XDG_STATE_HOME/larder`, else `~/.local/state/larder`, else
    /// none. Created when it is first needed.
    package var stateDirectory: String?
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
    /// The executable of Chromium; `nil`: pages are captured without running their scripts.
    package var browser: String?
    package var browserUser = BrowserLaunch.User.nobody
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

    /// Host and port in the form of a URL: an IPv6 address is in brackets (RFC 3986 §3.2.2), and the `%` before its
    /// zone is escaped (RFC 6874 §2). For a ``port`` of 0, `port` is the port that the system chose.
    package func authority(port: UInt16) -> String {
        host.contains(":") ? "[\(host.replacing("%", with: "%25"))]:\(port)" : "\(host):\(port)"
    }

    /// The environment variable that names the YAML file, as `--config` does.
    package static let fileVariable = "LARDER_CONFIG"

    /// Resolves a configuration: a flag overrides the environment, which overrides the file, which overrides the
    /// default. `flags` has the values by ``Setting/name``; an option without values counts as absent. Unknown
    /// variables are ignored, because other software sets such names; see ``unknownVariables(in:)``.
    package init(flags: [String: [String]], environment: [String: String], file: String?) throws(ConfigurationError) {
        let fileValues =
            try file.map { path throws(ConfigurationError) in try ConfigurationFile.values(at: path) } ?? [:]
        self.init()
        for setting in Setting.all {
            let values: [String]
            let place: String
            if let given = flags[setting.name], !given.isEmpty {
                (values, place) = (setting.isList ? given.flatMap(Setting.elements) : given, setting.flag)
            } else if let text = environment[setting.variable], !Self.isServiceLink(text, setting) {
                (values, place) = (setting.isList ? Setting.elements(text) : [text], setting.variable)
            } else if let given = fileValues[setting.name] {
                (values, place) = (given, "\(setting.name) in \(file ?? "the file")")
            } else {
                continue
            }
            do {
                try setting.apply(values, &self)
            } catch {
                let shown = values.joined(separator: ",")
                throw ConfigurationError("\(place): \"\(shown)\" is not valid; expected \(error.expected)")
            }
        }
        try settleDirectories(environment)
    }

    private mutating func settleDirectories(_ environment: [String: String]) throws(ConfigurationError) {
        if directory.isEmpty {
            guard let path = Self.directory("XDG_CACHE_HOME", inHome: ".cache", environment) else {
                throw ConfigurationError(
                    "the cache has no directory; set --directory, LARDER_DIRECTORY, XDG_CACHE_HOME or HOME")
            }
            directory = path
        }
        directory = Self.absolute(directory)
        // Most servers need no state directory, so it may be missing.
        stateDirectory =
            (stateDirectory ?? Self.directory("XDG_STATE_HOME", inHome: ".local/state", environment))
            .map(Self.absolute)
    }

    /// Larder's directory below that of a variable, or below the home directory; `nil` when there is neither.
    private static func directory(
        _ variable: String, inHome folder: String, _ environment: [String: String]
    ) -> String? {
        // A relative path in this variable is ignored, as the XDG specification demands.
        if let base = environment[variable], base.hasPrefix("/") { return base + "/larder" }
        guard let home = environment["HOME"], !home.isEmpty else { return nil }
        return "\(home)/\(folder)/larder"
    }

    private static func absolute(_ path: String) -> String {
        // Makes the path absolute first, because `URL` would replace a `~` at the beginning of a relative path.
        let path = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        return URL(fileURLWithPath: path).standardizedFileURL.path
    }

    /// Whether Kubernetes sets the variable: `LARDER_PORT=tcp://10.96.0.7:8080` in every pod beside a Service named
    /// "larder", and `LARDER_ADMIN_PORT` beside "larder-admin". Neither value is a port to listen on.
    private static func isServiceLink(_ text: String, _ setting: Setting) -> Bool {
        [Setting.port.name, Setting.adminPort.name].contains(setting.name)
            && ["tcp://", "udp://", "sctp://"].contains { text.hasPrefix($0) }
    }

    /// Returns the sorted `LARDER_…` variables that name no option, for a warning. Omits the variables that Kubernetes
    /// sets for the Services "larder" and "larder-admin", and the variables of Larder's own tests.
    package static func unknownVariables(in environment: [String: String]) -> [String] {
        let known = Set(Setting.all.map(\.variable)).union(
            [fileVariable, "LARDER_SERVER", "LARDER_TOKEN", "LARDER_CA_FILE"])
        let prefixes = [
            "LARDER_SERVICE_", "LARDER_PORT_", "LARDER_ADMIN_SERVICE_", "LARDER_ADMIN_PORT_", "LARDER_CRASH_",
            "LARDER_SOAK_",
        ]
        return environment.keys.filter { name in
            name.hasPrefix("LARDER_") && !known.contains(name) && !prefixes.contains { name.hasPrefix($0) }
        }.sorted()
    }

    package func checkTLS() throws(ConfigurationError) {
        if tlsCertificate != nil, tlsKey == nil {
            throw ConfigurationError("--tls-certificate needs its private key; add --tls-key FILE")
        }
        if tlsKey != nil, tlsCertificate == nil {
            throw ConfigurationError("--tls-key needs its certificate; add --tls-certificate FILE")
        }
        if tlsClientAuthority != nil, tlsCertificate == nil {
            throw ConfigurationError("--tls-client-ca needs TLS; add --tls-certificate FILE and --tls-key FILE")
        }
    }

    package var isOnLoopback: Bool {
        host == "localhost" || IPAddress(host)?.isLoopback == true
    }

    /// The most connections of one client address; 0: any number. By default, one address cannot take all connections.
    /// On loopback the default is no limit, because all clients have the same address.
    package func connectionsPerClient(of limit: Int) -> Int {
        maxConnectionsPerClient ?? (isOnLoopback ? 0 : max(16, limit / 4))
    }

    /// The most listeners of all clients together. Each listener takes one of the `limit` connections.
    func listeners(of limit: Int) -> Int {
        min(limit, maxListeners ?? max(1, limit / 2))
    }

    /// The most listeners of one client address; 0: any number. The default follows the rule of
    /// ``connectionsPerClient(of:)``.
    func listenersPerClient(of limit: Int) -> Int {
        maxListenersPerClient ?? (isOnLoopback ? 0 : max(16, limit / 4))
    }

    /// Throws when other machines could reach a server with neither tokens nor ``isOpen``, and when options conflict.
    package func checkExposure() throws(ConfigurationError) {
        if let adminPort, adminPort != 0, adminPort == port {
            throw ConfigurationError("--admin-port and --port are the same port; choose another --admin-port")
        }
        if tokensFile != nil {
            guard !isOpen else {
                throw ConfigurationError("--open and --tokens-file exclude each other; leave one of them out")
            }
            return
        }
        guard !isOnLoopback, !isOpen else { return }
        let scopes = Scope.allCases.map { "--scope \($0)" }.joined(separator: " ")
        throw ConfigurationError(
            """
            \(host) is reachable from other machines, and the server has no tokens. Create a token, which is shown once:

                larder token create --tokens-file tokens --name me \(scopes)
                larder serve --host \(host) --tokens-file tokens

            or give every client full access:

                larder serve --host \(host) --open

            """)
    }
}

/// Divides the process's file descriptors between clients' connections and concurrent requests to origins.
///
/// A request to an origin takes two descriptors, for a socket and a file. Requests through the gateway get at most a
/// quarter of all descriptors, and downloads at most an eighth, so that origins that hang do not stop the serving of
/// hits. Namespaces and all other uses get an eighth. Clients get the rest, at least half.
struct TransferLimits: Equatable {
    /// The most namespaces of a server. A low limit of file descriptors permits fewer.
    static let namespaceLimit = 100

    let gateway: Int
    /// The part of ``gateway`` for one host. With less, requests that cannot share a response would queue.
    var gatewayPerHost: Int { max(1, gateway / 2) }
    let downloads: Int
    let downloadsPerHost: Int
    /// At most a hundred namespaces, because each takes about sixteen descriptors.
    let namespaces: Int
    /// Connections of clients; at most 16,384, because each takes memory.
    let clients: Int

    init(descriptors: Int, maxDownloads: Int, maxDownloadsPerHost: Int) {
        gateway = max(1, min(4096, descriptors / 8))
        downloads = max(1, min(maxDownloads, descriptors / 16))
        downloadsPerHost = max(1, min(maxDownloadsPerHost, downloads / 2))
        namespaces = max(1, min(Self.namespaceLimit, descriptors / 8 / 16))
        clients = max(1, min(16_384, descriptors - descriptors / 8 - 2 * gateway - 2 * downloads))
    }
}
