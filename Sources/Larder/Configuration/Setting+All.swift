import DiskCache
import Logging

extension Setting {
    /// In the order of the help.
    package static let all: [Setting] = [
        host, port, tlsCertificate, tlsKey, tlsClientCA, tokensFile, open, allowHost, corsOrigin,
        maxConnectionsPerClient, maxListeners, maxListenersPerClient, adminPort, directory, layout, defaultTTL,
        memoryLimit, diskLimit, diskReserve, entryLimit, inlineLimit, durability, maxDownloads, maxDownloadsPerHost,
        allowOrigin, denyOrigin, originPorts, originCA, schemes, drainDelay, drainTimeout, logLevel, logFormat,
    ]

    package static let host = Setting(
        "host", "ADDRESS", default: "127.0.0.1", "Address to listen on.", \.host
    ) { value throws(SettingValueError) in try text(value, "an IPv4 or IPv6 address or a host name") }

    package static let port = Setting(
        "port", "PORT", default: "8080", "TCP port to listen on; 0 takes any free port.", \.port, portNumber)

    package static let directory = Setting(
        "directory", "PATH", default: "$XDG_CACHE_HOME/larder, else ~/.cache/larder", "Cache directory.", \.directory,
        path)

    package static let layout = Setting(
        "layout", "LAYOUT", default: "\(Configuration.defaultLayout)",
        "Storage of bodies: hashed (files named by MD5; small bodies in one file, the slab) or readable (a directory "
            + "tree that mirrors the URL).", \.layout
    ) { value throws(SettingValueError) in try oneOf(Layout(rawValue: value), "hashed or readable") }

    package static let defaultTTL = Setting(
        "default-ttl", "DURATION", default: "604800",
        "Time that an entry stays fresh when neither the caller nor the origin sets one.", \.defaultTTL, seconds)

    package static let memoryLimit = Setting(
        "memory-limit", "BYTES", default: "256MiB", "Size limit of the memory tier; 0 disables it.", \.memoryLimit
    ) { value throws(SettingValueError) in try bytes(value) }

    package static let diskLimit = Setting(
        "disk-limit", "BYTES", default: "10GiB", "Limit of disk space for entries.", \.diskLimit
    ) { value throws(SettingValueError) in try bytes(value, atLeast: 1 << 20) }

    package static let diskReserve = Setting(
        "disk-reserve", "SHARE", default: "5%",
        "Part of the file system that stays free, as a share or in bytes. Entries are evicted when less is free; 0 "
            + "disables it.", \.diskReserve, reserve)

    package static let entryLimit = Setting(
        "entry-limit", "BYTES", default: "1GiB", "Size limit of one body.", \.entryLimit
    ) { value throws(SettingValueError) in try bytes(value, atLeast: 1) }

    package static let inlineLimit = Setting(
        "inline-limit", "BYTES", default: "16KiB",
        "Bodies up to this size share one file, the slab (hashed layout); 0 stores each body in its own file.",
        \.inlineLimit
    ) { value throws(SettingValueError) in try bytes(value, atMost: 1 << 20) }

    package static let durability = Setting(
        "durability", "LEVEL", default: "process",
        "Failure that acknowledged writes and removals survive: a kill -9 (process) or a power cut (power).",
        \.durability
    ) { value throws(SettingValueError) in try oneOf(Durability(rawValue: value), "process or power") }

    package static let maxDownloads = Setting(
        "max-downloads", "COUNT", default: "512", "Limit of simultaneous downloads; further ones wait.", \.maxDownloads,
        count)

    package static let maxDownloadsPerHost = Setting(
        "max-downloads-per-host", "COUNT", default: "128", "Limit of simultaneous downloads from one host and port.",
        \.maxDownloadsPerHost, count)

    package static let drainDelay = Setting(
        "drain-delay", "DURATION", default: "0",
        "Time that new requests are still served after SIGTERM, while /readyz already answers 503.", \.drainDelay,
        seconds)

    package static let drainTimeout = Setting(
        "drain-timeout", "DURATION", default: "30", "Time that requests in flight have to finish after SIGTERM.",
        \.drainTimeout, seconds)

    package static let logLevel = Setting(
        "log-level", "LEVEL", default: "info",
        "Lowest level to log: trace, debug, info, notice, warning, error or critical.", \.logLevel
    ) { value throws(SettingValueError) in
        try oneOf(
            Logger.Level(rawValue: value.lowercased()), Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))
    }

    package static let logFormat = Setting(
        "log-format", "FORMAT", default: "text on a terminal, else json", "Format of log lines: text or json.",
        \.logFormat
    ) { value throws(SettingValueError) in try oneOf(Configuration.LogFormat(rawValue: value), "text or json") }

    /// Returns a parsed value. Throws when the text is none of the `expected` ones.
    static func oneOf<Value>(_ value: Value?, _ expected: String) throws(SettingValueError) -> Value {
        guard let value else { throw SettingValueError(expected) }
        return value
    }

    static func text(_ text: String, _ expected: String) throws(SettingValueError) -> String {
        try oneOf(text.isEmpty ? nil : text, expected)
    }

    static func path(_ path: String) throws(SettingValueError) -> String { try text(path, "a path") }

    static func portNumber(_ text: String) throws(SettingValueError) -> UInt16 {
        try oneOf(UInt16(text), "a number from 0 to 65535")
    }

    private static func seconds(_ text: String) throws(SettingValueError) -> Duration {
        try oneOf(TTL(text), TTL.expectation).duration
    }

    /// More than the size of any disk, and small enough for sums of such numbers.
    private static let maximumBytes = 1 << 60

    private static func bytes(
        _ text: String, atLeast minimum: Int = 0, atMost maximum: Int = maximumBytes
    ) throws(SettingValueError) -> Int {
        guard let size = ByteSize(text), (minimum...maximum).contains(size.bytes) else {
            throw SettingValueError(
                "a number of bytes, such as 1048576, 512KiB or 10GiB, from \(ByteSize(bytes: minimum)) to "
                    + "\(ByteSize(bytes: maximum))"
            )
        }
        return size.bytes
    }

    private static func reserve(_ text: String) throws(SettingValueError) -> DiskReserve {
        if let size = ByteSize(text), size.bytes <= maximumBytes { return .bytes(Int64(size.bytes)) }
        let digits = text.dropLast()
        guard text.last == "%", digits.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }),
            let percent = Double(digits), (0...90).contains(percent)
        else {
            throw SettingValueError("a share of the file system from 0% to 90%, or a number of bytes such as 10GiB")
        }
        return .percent(percent)
    }

    private static func count(_ text: String) throws(SettingValueError) -> Int {
        guard let count = Int(text), (1...100_000).contains(count) else {
            throw SettingValueError("a number from 1 to 100000")
        }
        return count
    }
}
