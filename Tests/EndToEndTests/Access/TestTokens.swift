import HTTPTypes
import Larder
import TestSupport

/// The tokens of a test server, made in the same way as by the command `larder token create`.
struct TestTokens: Sendable {
    let store: TokenStore
    private let directory: TemporaryDirectory
    private let secrets: [String: String]

    struct Plan {
        let name: String
        var scopes = Set(Scope.allCases)
        var namespaces: Set<String>? = ["default"]
        var rate: Double?
    }

    /// - Parameter clock: the clock by which rates are counted.
    init(
        _ plans: [Plan], clock: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) throws {
        directory = try TemporaryDirectory()
        var secrets: [String: String] = [:]
        for plan in plans {
            let secret = TokenSecret(name: plan.name)
            secrets[plan.name] = secret.text
            try TokenFile.add(
                AccessToken(
                    name: plan.name, digest: secret.digest, scopes: plan.scopes, namespaces: plan.namespaces,
                    rate: plan.rate), at: directory.path("tokens"))
        }
        self.secrets = secrets
        store = try TokenStore(file: directory.path("tokens"), clock: clock)
    }

    /// Returns the text of a token, as its bearer sends it.
    func secret(_ name: String) -> String { secrets[name]! }

    /// Returns the field with a token for a target, and the namespace field if the target accepts this field; see
    /// ``target(_:in:)``.
    func fields(_ name: String, for target: String, in namespace: String? = nil) -> HTTPFields {
        var fields = Self.fields("Bearer \(secrets[name]!)", for: target)
        if !target.hasPrefix("/fetch") { fields[HTTPField.Name("Larder-Namespace")!] = namespace }
        return fields
    }

    /// Returns a target within a namespace. `/fetch` gets a prefix, because `/fetch` refuses the namespace field.
    static func target(_ target: String, in namespace: String) -> String {
        target.hasPrefix("/fetch") ? "/@\(namespace)" + target : target
    }

    /// Removes a token, and makes the server read the file again.
    func revoke(_ name: String) throws {
        try TokenFile.remove(name, at: directory.path("tokens"))
        try store.reload()
    }

    static func fields(_ value: String, for target: String) -> HTTPFields {
        target.hasPrefix("/fetch") ? [HTTPField.Name("Larder-Authorization")!: value] : [.authorization: value]
    }
}
