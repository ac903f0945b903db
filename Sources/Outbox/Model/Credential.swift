/// Secret fields for requests to certain origins. Callers can write a credential but not read it.
package struct Credential: Hashable, Sendable {
    /// The origins that may receive the fields: `https://example.com`.
    package var origins: Set<String>
    /// Fields such as `Authorization` and `Cookie`.
    package var fields: [ChangeField]

    package init(origins: Set<String>, fields: [ChangeField]) {
        self.origins = origins
        self.fields = fields
    }

    /// The fields for a request to `origin`; none for an origin to which the credential is not bound.
    package func fields(for origin: String) -> [ChangeField] { origins.contains(origin) ? fields : [] }
}

extension Credential: CustomStringConvertible, CustomDebugStringConvertible {
    /// Without the values, so that no log and no event shows a secret.
    package var description: String {
        "credential for \(origins.sorted().joined(separator: ", ")) with \(fields.map(\.name).joined(separator: ", "))"
    }
    package var debugDescription: String { description }
}

extension Credential: CustomReflectable {
    /// `dump` and test failures read the mirror, not the description.
    package var customMirror: Mirror { Mirror(self, children: ["origins": origins]) }
}
