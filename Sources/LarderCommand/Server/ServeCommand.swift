import ArgumentParser
import DiskCache
import Foundation
import Larder
import LarderAPI
import Logging
import MicroHTTPD
import Primitives
import ServiceLifecycle

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run the server.",
        discussion: """
            Each option is a flag, an environment variable, and a key of the YAML file that --config or LARDER_CONFIG \
            names; a flag overrides the environment, which overrides the file.
            """)

    @OptionGroup(title: "Options") var options: SettingOptions

    func run() async throws {
        let configuration = try options.resolve()
        do {
            try configuration.checkExposure()
            try configuration.checkTLS()
        } catch {
            FileHandle.standardError.write(Data("Error: \(error)\n".utf8))
            throw ExitCode.validationFailure
        }
        try ProcessLimits.prepare()
        let logger = LogOutput.start(configuration)
        // The value is not logged, because it may be a secret of other software.
        for name in Configuration.unknownVariables(in: ProcessInfo.processInfo.environment) {
            logger.warning(
                "an environment variable names no option and is ignored; \"larder serve --help\" lists all options",
                metadata: ["variable": "\(name)"])
        }
        do {
            let server = try Server(configuration: configuration, logger: logger)
            let group = ServiceGroup(
                configuration: .init(
                    services: [.init(service: server)], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
            try await group.run()
        } catch let error as DiskCacheError {
            throw StartError(error, configuration: configuration)
        } catch let error as DaemonError {
            throw StartError(error, at: configuration.authority(port: configuration.port))
        }
    }
}

private enum ProcessLimits {
    /// Raises the soft limit of open files to the hard limit; throws ``FileLimitError`` when the hard limit is too low.
    static func prepare() throws {
        FreeMemory.giveBackSoon()
        // By default, these signals end the process. SIGPIPE: the reader of the log went away. SIGXFSZ: a write reached
        // the file size limit, and fails. SIGUSR1 and SIGHUP: the signal may arrive before ``Server`` handles it.
        // SIGUSR2: other servers use this signal, so an operator may send it here.
        for number in [SIGPIPE, SIGXFSZ, SIGUSR1, SIGHUP, SIGUSR2] { signal(number, SIG_IGN) }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            limit.rlim_cur = limit.rlim_max
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
        if DescriptorLimit.current < FileLimitError.least { throw FileLimitError() }
    }
}

/// The start must fail if the limit of open files is too low, because some libraries wait for ever for a descriptor.
struct FileLimitError: Error, CustomStringConvertible {
    /// The least number of descriptors: for the files of the index, for each serving thread, and for a few clients.
    static let least = 80 + 4 * DaemonConfiguration().threads

    let description =
        "the limit of open files is \(DescriptorLimit.current), but starting needs \(least); raise it (ulimit -n, "
        + "LimitNOFILE=)"
}

struct StartError: Error, CustomStringConvertible {
    let description: String

    init(_ error: DiskCacheError, configuration: Configuration) {
        description =
            switch error {
            case .inUse(let directory):
                "\(directory) is in use by another larder; stop it, or choose another directory with --directory"
            case .notACache: "\(error) with --directory"
            case .newerFormat:
                "\(configuration.directory): \(error); start a newer Larder, or choose another --directory"
            default: "\(configuration.directory): \(error)"
            }
    }

    /// `place` is the address of the admin port if `isAdmin`, else of the main port.
    init(_ error: DaemonError, at place: String, isAdmin: Bool = false) {
        description =
            error.code == EADDRINUSE
            ? "\(place) is in use; stop the server that listens there, or choose another port with "
                + (isAdmin ? "--admin-port" : "--port")
            : "cannot listen on \(place)\(isAdmin ? " for --admin-port" : ""): \(error.reason)"
    }
}
