import Foundation

extension Configuration {
    /// The variable that names the YAML file, beside `--config`.
    public static let fileVariable = "LARDER_CONFIG"

    /// Puts a configuration together: a flag beats the environment, which beats the file, which beats the default.
    ///
    /// - Parameters:
    ///   - flags: the values given for each option, by ``Setting/name``; an option without values is absent.
    ///   - environment: the process's environment. Other variables are ignored, but one that begins with `LARDER_` and
    ///     is not known is refused, so that a misspelt option does not pass for the default.
    ///   - file: the path of the YAML file; `nil` when there is none.
    /// - Throws: ``ConfigurationError``.
    public init(
        flags: [String: [String]], environment: [String: String], file: String?
    ) throws(ConfigurationError) {
        let fileValues =
            try file.map { path throws(ConfigurationError) in try ConfigurationFile.values(at: path) } ?? [:]
        try Self.refuseUnknown(environment)
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
                throw ConfigurationError(description: "\(place): \"\(shown)\" is not valid; expected \(error.expected)")
            }
        }
        try settleDirectory(environment)
    }

    private mutating func settleDirectory(_ environment: [String: String]) throws(ConfigurationError) {
        if directory.isEmpty {
            guard let standard = Self.defaultDirectory(environment: environment) else {
                throw ConfigurationError(
                    description: "no place for the cache: set --directory, LARDER_DIRECTORY, XDG_CACHE_HOME or HOME")
            }
            directory = standard
        }
        if !directory.hasPrefix("/") {
            directory = FileManager.default.currentDirectoryPath + "/" + directory
        }
        directory = URL(fileURLWithPath: directory).standardizedFileURL.path
    }

    /// Kubernetes sets `LARDER_PORT=tcp://10.96.0.7:8080` in every pod beside a Service named "larder", and
    /// `LARDER_ADMIN_PORT` beside one named "larder-admin".
    private static func isServiceLink(_ text: String, _ setting: Setting) -> Bool {
        [Setting.port.name, Setting.adminPort.name].contains(setting.name) && text.hasPrefix("tcp://")
    }

    private static func refuseUnknown(_ environment: [String: String]) throws(ConfigurationError) {
        // The client commands' are no mistake.
        let known = Set(Setting.all.map(\.variable)).union(
            [fileVariable, "LARDER_SERVER", "LARDER_TOKEN", "LARDER_CA_FILE"])
        // Those that begin like this are Kubernetes' too; see above.
        let unknown = environment.keys.filter {
            $0.hasPrefix("LARDER_") && !known.contains($0) && !$0.hasPrefix("LARDER_SERVICE_")
                && !$0.hasPrefix("LARDER_PORT_") && !$0.hasPrefix("LARDER_CRASH_")
                && !$0.hasPrefix("LARDER_SOAK_")
                && !$0.hasPrefix("LARDER_ADMIN_SERVICE_") && !$0.hasPrefix("LARDER_ADMIN_PORT_")
        }
        if let name = unknown.min() {
            throw ConfigurationError(description: "\(name): no such option; `larder serve --help` lists them all")
        }
    }
}
