import Testing

@testable import Larder
@testable import Outbox

/// The calls of a removal or a new version of the namespace `default`.
extension TestOutbox {
    /// Stores a credential and a change of a new document. The origin refuses only the first attempt of the change.
    func addWaitingChange() async throws -> (TestDocument, Change) {
        let document = try TestDocument(#"{"a":1}"#)
        document.change { $0.faults = [.answer(429)] }
        try await setCredential("key", "Bearer right", for: document)
        let change = try await put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
        try await document.origin.waitForRequests(1)
        return (document, try await wait(for: .pending, of: change))
    }

    func addCredential() async throws {
        try await setCredential("key", "Bearer right", for: try TestDocument("{}"))
    }

    /// Turns the clock beyond all pauses, and expects that the change of ``addWaitingChange()`` is not sent again.
    func expectHeld(
        _ change: Change, _ document: TestDocument, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        for _ in 0..<3 {
            clock.advance(by: .seconds(3600))
            service.clockChanged()
            #expect(try await find(change.id).state == .pending, sourceLocation: sourceLocation)
            // A request is among the transfers from the instant of its order on.
            #expect(service.queue.sync { service.transfers.isEmpty }, sourceLocation: sourceLocation)
        }
        #expect(document.origin.requestCount == 1, sourceLocation: sourceLocation)
    }

    @discardableResult
    func seal(
        for cause: DiscardCause = .removal, discarding: Bool = true
    ) async throws -> OutboxService.Seal {
        try await result { self.service.seal("default", for: cause, discarding: discarding, completion: $0) }
    }

    func unseal() { service.unseal("default") }

    @discardableResult
    func discard() async throws -> Bool {
        try await result { self.service.discard("default", completion: $0) }
    }

    /// Lets the database refuse discards of a namespace with a credential.
    func refuseDiscards() throws {
        try execute("CREATE TRIGGER refuse BEFORE DELETE ON credentials BEGIN SELECT RAISE(ABORT, 'refused'); END")
    }

    /// Returns whether changes or credentials were discarded.
    @discardableResult
    func prepare() async throws -> Bool {
        try await result { self.service.prepare("default", completion: $0) }
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
