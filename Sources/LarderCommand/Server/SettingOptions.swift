import ArgumentParser
import Foundation
import Larder

/// The command-line flags of ``Setting/all``. That table has the texts; this type only declares the flags.
struct SettingOptions: ParsableArguments {
    @Option("YAML file with any of these options.", value: "file", name: .customLong("config")) var config: String?

    @Option(.host) var host: String?
    @Option(.port) var port: String?
    @Option(.tlsCertificate) var tlsCertificate: String?
    @Option(.tlsKey) var tlsKey: String?
    @Option(.tlsClientCA) var tlsClientCA: String?
    @Option(.tokensFile) var tokensFile: String?
    @Flag(name: .customLong(Setting.open.name), help: Setting.open.argumentHelp) var open = false
    @Option(.allowHost) var allowHost: [String] = []
    @Option(.corsOrigin) var corsOrigin: [String] = []
    @Option(.maxConnectionsPerClient) var maxConnectionsPerClient: String?
    @Option(.maxListeners) var maxListeners: String?
    @Option(.maxListenersPerClient) var maxListenersPerClient: String?
    @Option(.adminPort) var adminPort: String?
    @Option(.directory) var directory: String?
    @Option(.stateDirectory) var stateDirectory: String?
    @Option(.layout) var layout: String?
    @Option(.defaultTTL) var defaultTTL: String?
    @Option(.memoryLimit) var memoryLimit: String?
    @Option(.diskLimit) var diskLimit: String?
    @Option(.diskReserve) var diskReserve: String?
    @Option(.entryLimit) var entryLimit: String?
    @Option(.inlineLimit) var inlineLimit: String?
    @Option(.durability) var durability: String?
    @Option(.maxDownloads) var maxDownloads: String?
    @Option(.maxDownloadsPerHost) var maxDownloadsPerHost: String?
    @Option(.allowOrigin) var allowOrigin: [String] = []
    @Option(.denyOrigin) var denyOrigin: [String] = []
    @Option(.originPorts) var originPorts: [String] = []
    @Option(.originCA) var originCA: String?
    @Option(.schemes) var schemes: [String] = []
    @Option(.browser) var browser: String?
    @Option(.browserUser) var browserUser: String?
    @Option(.drainDelay) var drainDelay: String?
    @Option(.drainTimeout) var drainTimeout: String?
    @Option(.logLevel) var logLevel: String?
    @Option(.logFormat) var logFormat: String?

    func resolve() throws(ExitCode) -> Configuration {
        try Configuration.resolve(flags: flags, file: config)
    }

    var flags: [String: [String]] {
        let single: [(Setting, String?)] = [
            (.host, host), (.port, port), (.tlsCertificate, tlsCertificate), (.tlsKey, tlsKey),
            (.tlsClientCA, tlsClientCA), (.tokensFile, tokensFile), (.open, open ? "true" : nil),
            (.maxConnectionsPerClient, maxConnectionsPerClient), (.maxListeners, maxListeners),
            (.maxListenersPerClient, maxListenersPerClient), (.adminPort, adminPort), (.directory, directory),
            (.stateDirectory, stateDirectory), (.layout, layout), (.defaultTTL, defaultTTL),
            (.memoryLimit, memoryLimit), (.diskLimit, diskLimit), (.diskReserve, diskReserve),
            (.entryLimit, entryLimit), (.inlineLimit, inlineLimit), (.durability, durability),
            (.maxDownloads, maxDownloads), (.maxDownloadsPerHost, maxDownloadsPerHost), (.browser, browser),
            (.browserUser, browserUser), (.drainDelay, drainDelay),
            (.drainTimeout, drainTimeout), (.originCA, originCA), (.logLevel, logLevel), (.logFormat, logFormat),
        ]
        let lists: [(Setting, [String])] = [
            (.allowHost, allowHost), (.corsOrigin, corsOrigin), (.allowOrigin, allowOrigin), (.denyOrigin, denyOrigin),
            (.originPorts, originPorts), (.schemes, schemes),
        ]
        let all = lists + single.map { ($0, [$1].compactMap(\.self)) }
        return Dictionary(uniqueKeysWithValues: all.map { ($0.name, $1) })
    }
}

extension Configuration {
    /// Without `file`, reads the file of `LARDER_CONFIG`. Throws the status of a usage error, after a single line on
    /// standard error. (ArgumentParser's own error would add the usage, which does not help here.)
    static func resolve(flags: [String: [String]], file: String? = nil) throws(ExitCode) -> Configuration {
        let environment = ProcessInfo.processInfo.environment
        do {
            return try Configuration(flags: flags, environment: environment, file: file ?? environment[fileVariable])
        } catch {
            FileHandle.standardError.write(Data("Error: \(error)\n".utf8))
            throw .validationFailure
        }
    }
}

extension Option {
    init(_ setting: Setting) where Value == String? {
        self.init(name: .customLong(setting.name), help: setting.argumentHelp)
    }

    fileprivate init(wrappedValue: [String], _ setting: Setting) where Value == [String] {
        self.init(wrappedValue: wrappedValue, name: .customLong(setting.name), help: setting.argumentHelp)
    }
}

extension Setting {
    fileprivate var argumentHelp: ArgumentHelp {
        ArgumentHelp("\(help) [\(variable); default: \(defaultText)]", valueName: placeholder.lowercased())
    }
}
