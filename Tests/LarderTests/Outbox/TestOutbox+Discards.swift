import TestSupport

@testable import Larder
@testable import Outbox

/// The calls of a removal or a new version of the namespace `default`.
extension TestOutbox {
    /// Returns the number of changes that have not ended.
    @discardableResult
    func seal(for cause: DiscardCause = .removal, discarding: Bool = true) async throws -> Int {
        try await result { self.service.seal("default", for: cause, discarding: discarding, completion: $0) }
    }

    func unseal() { service.unseal("default") }

    func discard() async throws {
        try await result { self.service.discard("default", completion: $0) }
    }

    /// Lets the database refuse discards of a namespace with a credential.
    func refuseDiscards() throws {
        try execute("CREATE TRIGGER refuse BEFORE DELETE ON credentials BEGIN SELECT RAISE(ABORT, 'refused'); END")
    }

    func allowDiscards() throws { try execute("DROP TRIGGER refuse") }

    /// Whether the namespace has neither changes nor credentials.
    func isEmpty() async throws -> Bool {
        let totals = try await result { self.service.totals(of: "default", completion: $0) }
        return try await credentialCount() == 0 && totals.counts.isEmpty
    }

    func credentialCount() async throws -> Int {
        try await result { self.service.credentials(in: "default", completion: $0) }.count
    }
}
