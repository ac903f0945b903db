import Foundation
import Larder
import Testing

/// A way of deploying Larder: the variables that it sets for the server, and the limits that it grants.
struct Deployment {
    let name: String
    /// The environment variables of the server.
    let variables: [String: String]
    /// The time until the server is killed. It begins with the preStop hook, or without a hook with the stop signal.
    let grace: Duration
    /// The duration of the preStop hook, which runs before the stop signal.
    var hook: Duration = .zero
    /// The limits of the memory and of the volume, in bytes; `nil` without a limit.
    var memory: Int?
    var volume: Int?

    /// The configuration that the server derives from the variables.
    var configuration: Configuration {
        get throws { try Configuration(flags: [:], environment: variables, file: nil) }
    }

    /// The image alone, with the default grace period of `docker stop`.
    static func image() throws -> Deployment {
        let lines = try DeployedFile("Dockerfile").stage("runtime").values(after: "ENV ")
        return Deployment(name: "the image", variables: try variables(lines), grace: .seconds(10))
    }

    static func compose() throws -> Deployment {
        let service = try #require(try DeployedFile("deploy/compose.yaml").yaml["services"]?["larder"])
        let own = try #require(service["environment"]?.objectValue).compactMapValues(\.stringValue)
        let grace = try seconds(try #require(service["stop_grace_period"]?.stringValue))
        return Deployment(
            name: "compose", variables: try image().variables.merging(own) { $1 }, grace: grace)
    }

    /// - Parameter overlay: the overlay that overrides the patches and variables of the base; `nil` for the base alone.
    static func kubernetes(overlay: String? = nil) throws -> Deployment {
        let folders = ["base"] + (overlay.map { ["overlays/\($0)"] } ?? [])
        var variables = try image().variables
        var memory: JSONValue?
        var volume: JSONValue?
        for folder in folders {
            let folder = "deploy/kubernetes/\(folder)"
            let literals = try DeployedFile("\(folder)/kustomization.yaml").yaml.members(named: "literals")
            let lines = literals.flatMap { $0.arrayValue ?? [] }.compactMap(\.stringValue)
            variables.merge(try Self.variables(lines)) { $1 }
            let set = try DeployedFile("\(folder)/statefulset.yaml").yaml
            memory = set.members(named: "limits").first?["memory"] ?? memory
            volume = set.members(named: "storage").first ?? volume
        }
        let pod = try #require(
            try DeployedFile("deploy/kubernetes/base/statefulset.yaml").yaml["spec"]?["template"]?["spec"])
        let hook = try #require(pod.members(named: "sleep").first?["seconds"]?.countValue)
        return Deployment(
            name: "Kubernetes, \(overlay ?? "base")", variables: variables,
            grace: .seconds(try #require(pod["terminationGracePeriodSeconds"]?.countValue)), hook: .seconds(hook),
            memory: try bytes(try #require(memory)), volume: try bytes(try #require(volume)))
    }

    static func systemd() throws -> Deployment {
        let unit = try DeployedFile("deploy/systemd/larder.service")
        let lines = unit.values(after: "Environment=").map {
            $0.replacing("%C", with: "/var/cache").replacing("%S", with: "/var/lib")
                .replacing("%d", with: "/run/credentials/larder.service")
        }
        let timeOut = try #require(unit.values(after: "TimeoutStopSec=").first)
        return Deployment(name: "systemd", variables: try variables(lines), grace: try seconds(timeOut + "s"))
    }

    /// All deployments of the repository.
    static func all() throws -> [Deployment] {
        try [image(), compose(), kubernetes(), kubernetes(overlay: "production"), systemd()]
    }

    /// Parses lines such as `NAME=value`.
    private static func variables(_ lines: [String]) throws -> [String: String] {
        var variables: [String: String] = [:]
        for line in lines {
            let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
            try #require(parts.count == 2, "\(line)")
            variables[parts[0]] = parts[1]
        }
        return variables
    }

    /// Parses a duration such as `45s`.
    private static func seconds(_ text: String) throws -> Duration {
        .seconds(try #require(text.hasSuffix("s") ? Int(text.dropLast()) : nil, "\(text)"))
    }

    /// Parses a size such as `10Gi`, as Kubernetes writes it.
    private static func bytes(_ value: JSONValue) throws -> Int {
        let text = try #require(value.stringValue)
        return try #require(ByteSize(text + "B"), "\(text)").bytes
    }
}
