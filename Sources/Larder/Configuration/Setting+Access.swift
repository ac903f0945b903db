import Origin

extension Setting {
    package static let tokensFile = Setting(
        "tokens-file", "FILE", default: "none",
        "File of accepted tokens, which \"larder token create\" writes; every request then needs a token. Reloaded "
            + "on SIGHUP.", \.tokensFile, path)

    package static let open = Setting(
        "open", "BOOL", default: "false",
        "Without tokens, give every client that reaches the server full access. On loopback this is the default.",
        \.isOpen
    ) { value throws(SettingValueError) in try oneOf(Bool(value), "true or false") }

    package static let allowHost = Setting(
        "allow-host", "NAME", default: "none",
        "Host name that requests without tokens may use, for example behind a proxy, in addition to localhost. "
            + "Others get 421, on loopback and wherever a name is given. Repeatable.",
        list: \.allowedHosts
    ) { (texts) throws(SettingValueError) in
        let areNames = texts.allSatisfy { name in
            name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f } && !name.contains { ":*/".contains($0) }
        }
        guard areNames else { throw SettingValueError("host names without ports") }
        return texts.map { $0.lowercased() }
    }

    package static let corsOrigin = Setting(
        "cors-origin", "ORIGIN", default: "none",
        "Web origin whose pages may use the API, such as https://app.example; * for all. Repeatable.",
        list: \.corsOrigins
    ) { (texts) throws(SettingValueError) in
        for text in texts where text != "*" && !isOrigin(text) {
            throw SettingValueError("a scheme and a host, such as https://app.example or http://localhost:3000, or *")
        }
        return texts
    }

    package static let adminPort = Setting(
        "admin-port", "PORT", default: "none",
        "Port for only /livez, /readyz and /metrics, without token and TLS; 0 takes any free port.", \.adminPort,
        portNumber)

    package static let maxConnectionsPerClient = Setting(
        "max-connections-per-client", "COUNT", default: "auto",
        "Limit of connections for one client address; further connections get 503, and over TLS are closed. 0 is no "
            + "limit; auto is no limit on loopback, and elsewhere a quarter of the limit for all clients, at least 16.",
        \.maxConnectionsPerClient
    ) { value throws(SettingValueError) in try countOrAuto(value, from: 0) }

    package static let maxListeners = Setting(
        "max-listeners", "COUNT", default: "auto",
        "Limit of clients that listen to /events; further ones get 503. auto is half of the limit of connections for "
            + "all clients.", \.maxListeners
    ) { value throws(SettingValueError) in try countOrAuto(value, from: 1) }

    package static let maxListenersPerClient = Setting(
        "max-listeners-per-client", "COUNT", default: "auto",
        "Limit of event listeners for one client address; further ones get 503. 0 is no limit; auto is no limit on "
            + "loopback, and elsewhere a quarter of --max-listeners, at least 16.", \.maxListenersPerClient
    ) { value throws(SettingValueError) in try countOrAuto(value, from: 0) }

    /// `nil` for "auto".
    private static func countOrAuto(_ text: String, from least: Int) throws(SettingValueError) -> Int? {
        if text == "auto" { return nil }
        guard let count = Int(text), (least...100_000).contains(count) else {
            throw SettingValueError("a number from \(least) to 100000, or auto")
        }
        return count
    }

    /// Whether a text is an origin in the form that browsers send: lower-case, without a path or a default port.
    private static func isOrigin(_ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1].isEmpty, parts[0].hasSuffix(":"), !parts[2].isEmpty else { return false }
        let hasDefaultPort =
            (parts[0] == "http:" && parts[2].hasSuffix(":80")) || (parts[0] == "https:" && parts[2].hasSuffix(":443"))
        return text == text.lowercased() && !hasDefaultPort && !parts[2].contains { "@?#".contains($0) }
    }
}

extension Configuration {
    package var isOnLoopback: Bool {
        host == "localhost" || IPAddress(host)?.isLoopback == true
    }

    /// 0: any number. By default one address cannot take all connections. On loopback there is no limit, because all
    /// clients have the same address.
    package func connectionsPerClient(of limit: Int) -> Int {
        maxConnectionsPerClient ?? (isOnLoopback ? 0 : max(16, limit / 4))
    }

    /// Each listener takes one of the `limit` connections.
    func listeners(of limit: Int) -> Int {
        min(limit, maxListeners ?? max(1, limit / 2))
    }

    /// 0: any number. The default follows the rule of ``connectionsPerClient(of:)``.
    func listenersPerClient(of limit: Int) -> Int {
        maxListenersPerClient ?? (isOnLoopback ? 0 : max(16, limit / 4))
    }

    /// Throws when other machines could reach a server that has neither tokens nor ``isOpen``, and when options
    /// contradict each other.
    package func checkExposure() throws(ConfigurationError) {
        if let adminPort, adminPort != 0, adminPort == port {
            throw ConfigurationError(
                description: "--admin-port and --port are the same port; choose another --admin-port")
        }
        if tokensFile != nil {
            guard !isOpen else {
                throw ConfigurationError(
                    description: "--open and --tokens-file exclude each other; leave one of them out")
            }
            return
        }
        guard !isOnLoopback, !isOpen else { return }
        let scopes = Scope.allCases.map { "--scope \($0)" }.joined(separator: " ")
        throw ConfigurationError(
            description: """
                \(host) is reachable from other machines, and the server has no tokens. Create a token, which is shown once:

                    larder token create --tokens-file tokens --name me \(scopes)
                    larder serve --host \(host) --tokens-file tokens

                or give every client full access:

                    larder serve --host \(host) --open

                """)
    }
}
