import Foundation

extension Configuration {
    /// The environment variable that names the YAML file, as `--config` does.
    package static let fileVariable = "LARDER_CONFIG"

    /// Resolves a configuration: a flag overrides the environment, which overrides the file, which overrides the
    /// default. `flags` has the values by ``Setting/name``; an option without values counts as absent. Unknown
    /// variables are ignored, even if they begin with `LARDER_`, because other software sets such names; see
    /// ``unknownVariables(in:)``.
    package init(
        flags: [String: [String]], environment: [String: String], file: String?
    ) throws(ConfigurationError) {
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
                throw ConfigurationError(description: "\(place): \"\(shown)\" is not valid; expected \(error.expected)")
            }
        }
        try settleDirectory(environment)
    }

    private mutating func settleDirectory(_ environment: [String: String]) throws(ConfigurationError) {
        if directory.isEmpty {
            guard let standard = Self.defaultDirectory(environment: environment) else {
                throw ConfigurationError(
                    description: "the cache has no directory; set --directory, LARDER_DIRECTORY, XDG_CACHE_HOME or HOME"
                )
            }
            directory = standard
        }
        if !directory.hasPrefix("/") {
            directory = FileManager.default.currentDirectoryPath + "/" + directory
        }
        directory = URL(fileURLWithPath: directory).standardizedFileURL.path
    }

    /// Kubernetes sets `LARDER_PORT=tcp://10.96.0.7:8080` in every pod beside a Service named "larder", and
    /// `LARDER_ADMIN_PORT` beside a Service named "larder-admin". Neither states where this server listens.
    private static func isServiceLink(_ text: String, _ setting: Setting) -> Bool {
        [Setting.port.name, Setting.adminPort.name].contains(setting.name)
            && ["tcp://", "udp://", "sctp://"].contains { text.hasPrefix($0) }
    }

    /// Misspelt options, or names of other software, sorted. A server warns about them. Kubernetes' links to the
    /// Services "larder" and "larder-admin" are left out, because no operator wrote them.
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
}
