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
        "host", "ADDRESS", default: "127.0.0.1", "Address to listen on."
    ) { (text, configuration) throws(SettingValueError) in
        guard !text.isEmpty else { throw SettingValueError("an IPv4 or IPv6 address or a host name") }
        configuration.host = text
    }

    package static let port = Setting(
        "port", "PORT", default: "8080", "TCP port to listen on; 0 takes any free port."
    ) { (text, configuration) throws(SettingValueError) in
        guard let port = UInt16(text) else { throw SettingValueError("a number from 0 to 65535") }
        configuration.port = port
    }

    package static let directory = Setting(
        "directory", "PATH", default: "$XDG_CACHE_HOME/larder, else ~/.cache/larder", "Cache directory."
    ) { (text, configuration) throws(SettingValueError) in
        guard !text.isEmpty else { throw SettingValueError("a path") }
        configuration.directory = text
    }

    package static let layout = Setting(
        "layout", "LAYOUT", default: "\(Configuration.defaultLayout)",
        "Storage of bodies: hashed (files named by MD5; small bodies in one file, the slab) or readable (a directory "
            + "tree that mirrors the URL)."
    ) { (text, configuration) throws(SettingValueError) in
        guard let layout = Layout(rawValue: text) else { throw SettingValueError("hashed or readable") }
        configuration.layout = layout
    }

    package static let defaultTTL = Setting(
        "default-ttl", "DURATION", default: "604800",
        "Time that an entry stays fresh when neither the caller nor the origin sets one."
    ) { (text, configuration) throws(SettingValueError) in
        configuration.defaultTTL = try seconds(text)
    }

    package static let memoryLimit = Setting(
        "memory-limit", "BYTES", default: "256MiB", "Size limit of the memory tier; 0 disables it."
    ) { (text, configuration) throws(SettingValueError) in
        configuration.memoryLimit = try bytes(text)
    }

    package static let diskLimit = Setting(
        "disk-limit", "BYTES", default: "10GiB", "Limit of disk space for entries."
    ) { (text, configuration) throws(SettingValueError) in
        configuration.diskLimit = try bytes(text, atLeast: 1 << 20)
    }

    package static let diskReserve = Setting(
        "disk-reserve", "SHARE", default: "5%",
        "Part of the file system that stays free, as a share or in bytes. Entries are evicted when less is free; 0 "
            + "disables it."
    ) { (text, configuration) throws(SettingValueError) in
        configuration.diskReserve = try reserve(text)
    }

    package static let entryLimit = Setting(
        "entry-limit", "BYTES", default: "1GiB", "Size limit of one body."
    ) { (text, configuration) throws(SettingValueError) in
        configuration.entryLimit = try bytes(text, atLeast: 1)
    }

    package static let inlineLimit = Setting(
        "inline-limit", "BYTES", default: "16KiB",
        "Bodies up to this size share one file, the slab (hashed layout); 0 stores each body in its own file."
    ) { (text, configuration) throws(SettingValueError) in
        configuration.inlineLimit = try bytes(text, atMost: 1 << 20)
    }

    package static let durability = Setting(
        "durability", "LEVEL", default: "process",
        "Failure that acknowledged writes and removals survive: a kill -9 (process) or a power cut (power)."
    ) { (text, configuration) throws(SettingValueError) in
        guard let durability = Durability(rawValue: text) else { throw SettingValueError("process or power") }
        configuration.durability = durability
    }

    package static let maxDownloads = Setting(
        "max-downloads", "COUNT", default: "512", "Limit of simultaneous downloads; further ones wait."
    ) { (text, configuration) throws(SettingValueError) in
        configuration.maxDownloads = try count(text)
    }

    package static let maxDownloadsPerHost = Setting(
        "max-downloads-per-host", "COUNT", default: "128", "Limit of simultaneous downloads from one host and port."
    ) { (text, configuration) throws(SettingValueError) in
        configuration.maxDownloadsPerHost = try count(text)
    }

    package static let drainDelay = Setting(
        "drain-delay", "DURATION", default: "0",
        "Time that new requests are still served after SIGTERM, while /readyz already answers 503."
    ) { (text, configuration) throws(SettingValueError) in
        configuration.drainDelay = try seconds(text)
    }

    package static let drainTimeout = Setting(
        "drain-timeout", "DURATION", default: "30", "Time that requests in flight have to finish after SIGTERM."
    ) { (text, configuration) throws(SettingValueError) in
        configuration.drainTimeout = try seconds(text)
    }

    package static let logLevel = Setting(
        "log-level", "LEVEL", default: "info",
        "Lowest level to log: trace, debug, info, notice, warning, error or critical."
    ) { (text, configuration) throws(SettingValueError) in
        guard let level = Logger.Level(rawValue: text.lowercased()) else {
            throw SettingValueError(Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))
        }
        configuration.logLevel = level
    }

    package static let logFormat = Setting(
        "log-format", "FORMAT", default: "text on a terminal, else json", "Format of log lines: text or json."
    ) { (text, configuration) throws(SettingValueError) in
        guard let format = Configuration.LogFormat(rawValue: text) else { throw SettingValueError("text or json") }
        configuration.logFormat = format
    }

    private static func seconds(_ text: String) throws(SettingValueError) -> Duration {
        guard let ttl = TTL(text) else {
            throw SettingValueError(TTL.expectation)
        }
        return ttl.duration
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
