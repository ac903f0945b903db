import HTTPTypes
import Larder
import TestSupport

/// Tokens of a server, made as the command makes them.
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

    /// - Parameter clock: what rates are counted by.
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

    /// The token as its bearer has it.
    func secret(_ name: String) -> String { secrets[name]! }

    /// The field that a token comes in, for a target, and the one that names a namespace, where the target takes it;
    /// see ``target(_:in:)``.
    func fields(_ name: String, for target: String, in namespace: String? = nil) -> HTTPFields {
        var fields = Self.fields("Bearer \(secrets[name]!)", for: target)
        if !target.hasPrefix("/fetch") { fields[HTTPField.Name("Larder-Namespace")!] = namespace }
        return fields
    }

    /// A target as a client writes it that means a namespace: `/fetch` does not take the field.
    static func target(_ target: String, in namespace: String) -> String {
        target.hasPrefix("/fetch") ? "/@\(namespace)" + target : target
    }

    /// Removes a token, and has the server read the file anew.
    func revoke(_ name: String) throws {
        try TokenFile.remove(name, at: directory.path("tokens"))
        try store.reload()
    }

    static func fields(_ value: String, for target: String) -> HTTPFields {
        target.hasPrefix("/fetch") ? [HTTPField.Name("Larder-Authorization")!: value] : [.authorization: value]
    }
}
