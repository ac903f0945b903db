import Browser
import DiskCache
import Foundation
import Logging
import Primitives

extension Setting {
    /// In the order of the help.
    package static let all: [Setting] = [
        host, port, tlsCertificate, tlsKey, tlsClientCA, tokensFile, open, allowHost, corsOrigin,
        maxConnectionsPerClient, maxListeners, maxListenersPerClient, adminPort, directory, stateDirectory, layout,
        defaultTTL,
        memoryLimit, diskLimit, diskReserve, entryLimit, inlineLimit, durability, maxDownloads, maxDownloadsPerHost,
        allowOrigin, denyOrigin, originPorts, originCA, schemes, browser, browserUser,
        drainDelay, drainTimeout, logLevel, logFormat,
    ]

    package static let host = Setting(
        "host", "ADDRESS", default: "127.0.0.1", "Address to listen on.", \.host,
        text("an IPv4 or IPv6 address or a host name"))
    package static let port = Setting(
        "port", "PORT", default: "8080", "TCP port to listen on; 0 takes any free port.", \.port, portNumber)
    package static let tlsCertificate = Setting(
        "tls-certificate", "FILE", default: "none",
        "Certificate (PEM) to serve TLS with, followed by its intermediate certificates. Needs --tls-key. Reloaded "
            + "on SIGHUP.", \.tlsCertificate, path)
    package static let tlsKey = Setting(
        "tls-key", "FILE", default: "none",
        "Private key (PEM, without a passphrase) of --tls-certificate. Reloaded on SIGHUP.", \.tlsKey, path)
    package static let tlsClientCA = Setting(
        "tls-client-ca", "FILE", default: "none",
        "Certificate authorities (PEM) for client certificates; every client then needs a certificate signed by one "
            + "of them. Reloaded on SIGHUP.", \.tlsClientAuthority, path)
    package static let tokensFile = Setting(
        "tokens-file", "FILE", default: "none",
        "File of accepted tokens, which \"larder token create\" writes; every request then needs a token. Reloaded "
            + "on SIGHUP.", \.tokensFile, path)
    package static let open = Setting(
        "open", "BOOL", default: "false",
        "Without tokens, give every client that reaches the server full access. On loopback this is the default.",
        \.isOpen, value("true or false") { Bool($0) })
    package static let allowHost = Setting(
        "allow-host", "NAME", default: "none",
        "Host name that requests without tokens may use, for example behind a proxy, in addition to localhost. "
            + "On loopback, and if a name is given, other names get 421. Repeatable.",
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
    package static let maxConnectionsPerClient = Setting(
        "max-connections-per-client", "COUNT", default: "auto",
        "Limit of connections for one client address; further connections get 503, and over TLS are closed. 0 is no "
            + "limit; auto is no limit on loopback, and elsewhere a quarter of the limit for all clients, at least 16.",
        \.maxConnectionsPerClient, countOrAuto(from: 0))
    package static let maxListeners = Setting(
        "max-listeners", "COUNT", default: "auto",
        "Limit of clients that listen to /events; further ones get 503. auto is half of the limit of connections for "
            + "all clients.", \.maxListeners, countOrAuto(from: 1))
    package static let maxListenersPerClient = Setting(
        "max-listeners-per-client", "COUNT", default: "auto",
        "Limit of event listeners for one client address; further ones get 503. 0 is no limit; auto is no limit on "
            + "loopback, and elsewhere a quarter of --max-listeners, at least 16.",
        \.maxListenersPerClient, countOrAuto(from: 0))
    package static let adminPort = Setting(
        "admin-port", "PORT", default: "none",
        "Port for only /livez, /readyz and /metrics, without token and TLS; 0 takes any free port.", \.adminPort,
        portNumber)
    package static let directory = Setting(
        "directory", "PATH", default: "$XDG_CACHE_HOME/larder, else ~/.cache/larder", "Cache directory.", \.directory,
        path)
    package static let stateDirectory = Setting(
        "state-directory", "PATH", default: "$XDG_STATE_HOME/larder, else ~/.local/state/larder",
        "Directory of data that is no cache, such as changes to send; created when first needed.", \.stateDirectory,
        value("a path") { $0.isEmpty ? nil : $0 })
    package static let layout = Setting(
        "layout", "LAYOUT", default: "\(Configuration.defaultLayout)",
        "Storage of bodies: hashed (files named by MD5; small bodies in one file, the slab) or readable (a directory "
            + "tree that mirrors the URL).", \.layout, value("hashed or readable", Layout.init(rawValue:)))
    package static let defaultTTL = Setting(
        "default-ttl", "DURATION", default: "604800",
        "Time that an entry stays fresh when neither the caller nor the origin sets a time.", \.defaultTTL, seconds)
    package static let memoryLimit = Setting(
        "memory-limit", "BYTES", default: "256MiB", "Size limit of the memory tier; 0 disables it.", \.memoryLimit,
        bytes())
    package static let diskLimit = Setting(
        "disk-limit", "BYTES", default: "10GiB", "Limit of disk space for entries.", \.diskLimit,
        bytes(atLeast: 1 << 20))
    package static let diskReserve = Setting(
        "disk-reserve", "SHARE", default: "5%",
        "Part of the file system that stays free, as a share or in bytes. Entries are evicted when less is free; 0 "
            + "disables it.", \.diskReserve, reserve)
    package static let entryLimit = Setting(
        "entry-limit", "BYTES", default: "1GiB", "Size limit of one body.", \.entryLimit, bytes(atLeast: 1))
    package static let inlineLimit = Setting(
        "inline-limit", "BYTES", default: "16KiB",
        "Bodies up to this size share one file, the slab (hashed layout); 0 stores each body in its own file.",
        \.inlineLimit, bytes(atMost: 1 << 20))
    package static let durability = Setting(
        "durability", "LEVEL", default: "process",
        "Failure that acknowledged writes and removals survive: a kill -9 (process) or a power cut (power).",
        \.durability, value("process or power", Durability.init(rawValue:)))
    package static let maxDownloads = Setting(
        "max-downloads", "COUNT", default: "512", "Limit of simultaneous downloads; further ones wait.", \.maxDownloads,
        count)
    package static let maxDownloadsPerHost = Setting(
        "max-downloads-per-host", "COUNT", default: "128", "Limit of simultaneous downloads from one host and port.",
        \.maxDownloadsPerHost, count)
    package static let allowOrigin = Setting(
        "allow-origin", "RULE", default: "none",
        "Address, CIDR range or host (*.example.com for its subdomains; with :PORT, or for any port) to allow as "
            + "origin although it is not globally routable or has another port. Repeatable.",
        list: \.allowedOrigins
    ) { (texts) throws(SettingValueError) in
        let rules = try rules(texts)
        guard !rules.contains(where: { $0.target == .everything }) else {
            throw SettingValueError(
                "a rule narrower than *: use --origin-ports for ports, or 0.0.0.0/0 and ::/0 for all addresses")
        }
        return rules
    }
    package static let denyOrigin = Setting(
        "deny-origin", "RULE", default: "none",
        "Address, CIDR range or host (with :PORT, or for any port) to refuse as origin, even if --allow-origin "
            + "allows it; * refuses all origins that --allow-origin does not allow. Repeatable.",
        list: \.deniedOrigins, rules)
    package static let originPorts = Setting(
        "origin-ports", "LIST", default: "80,443",
        "Allowed ports of origins; ftp adds 21. --allow-origin can add others for one origin.",
        list: \.originPorts
    ) { (texts) throws(SettingValueError) in
        let ports = texts.compactMap(UInt16.init)
        guard ports.count == texts.count, !ports.contains(0) else {
            throw SettingValueError("numbers from 1 to 65535")
        }
        return Set(ports)
    }
    package static let originCA = Setting(
        "origin-ca", "FILE", default: "none",
        "Certificate authorities (PEM) to trust for https origins, in addition to the system's.", \.originAuthority,
        certificates)
    package static let schemes = Setting(
        "schemes", "LIST", default: "http,https", "Allowed URL schemes of downloads: http, https or ftp.",
        list: \.schemes
    ) { (texts) throws(SettingValueError) in
        let schemes = Set(texts.map { $0.lowercased() })
        guard !schemes.isEmpty, schemes.isSubset(of: CanonicalURL.schemes) else {
            throw SettingValueError("one or more of http, https, ftp")
        }
        return schemes
    }
    package static let browser = Setting(
        "browser", "FILE", default: "none",
        "Executable of Chromium, with which pages are captured. Without it, pages are captured without running their "
            + "scripts.", \.browser,
        value("the path of an executable file") { access($0, X_OK) == 0 && $0.hasPrefix("/") ? $0 : nil })
    package static let browserUser = Setting(
        "browser-user", "NAME", default: "nobody",
        "User of Chromium's processes when Larder runs as root; otherwise they have Larder's own user.",
        \.browserUser, value("the name of a user other than root", BrowserLaunch.User.init(named:)))
    package static let drainDelay = Setting(
        "drain-delay", "DURATION", default: "0",
        "Time that new requests are still served after SIGTERM, while /readyz already answers 503.", \.drainDelay,
        seconds)
    package static let drainTimeout = Setting(
        "drain-timeout", "DURATION", default: "30", "Time that requests in flight have to finish after SIGTERM.",
        \.drainTimeout, seconds)
    package static let logLevel = Setting(
        "log-level", "LEVEL", default: "info",
        "Lowest level to log: trace, debug, info, notice, warning, error or critical.", \.logLevel,
        value(Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")) { .init(rawValue: $0.lowercased()) })
    package static let logFormat = Setting(
        "log-format", "FORMAT", default: "text on a terminal, else json", "Format of log lines: text or json.",
        \.logFormat, value("text or json", Configuration.LogFormat.init(rawValue:)))
}
