import Primitives
import TestSupport
import Testing

@testable import Larder
@testable import Outbox

@Suite("The outbox and failures of its database")
struct OutboxDatabaseTests {
    @Test("A database error while a credential is read is no 401: the change waits, and is sent later")
    func unreadableCredential() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            document.change { state in
                state.secret = "Bearer right"
                state.faults = [.answer(429)]
            }
            try await outbox.setCredential("key", "Bearer right", for: document)
            var request = try TestOutbox.request(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            request.credential = "key"
            let change = try await outbox.accept(request)
            try await poll("the first attempt") { document.requests("PUT").count == 1 }
            _ = try await outbox.wait(for: .pending, of: change)
            try outbox.execute("ALTER TABLE credentials RENAME TO hidden")
            try await poll("the second attempt") {
                outbox.clock.advance(by: .seconds(1))
                outbox.service.clockChanged()
                return outbox.log.lines.elements.contains { $0.contains("a credential cannot be read") }
            }
            _ = try await outbox.wait(for: .pending, of: change)
            try outbox.execute("ALTER TABLE hidden RENAME TO credentials")
            _ = try await outbox.wait(for: .done, of: change, turning: true)
            #expect(document.effects == [#"{"a":2}"#])
        }
    }

    // MARK: - Removed namespaces

    /// An outbox with a credential, and with a change that waits.
    private func fill(_ outbox: TestOutbox) async throws -> Change {
        let document = try TestDocument(#"{"a":1}"#)
        document.change { $0.faults = Array(repeating: .answer(429), count: 1000) }
        try await outbox.setCredential("key", "Bearer right", for: document)
        let change = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
        try await document.origin.waitForRequests(1)
        return try await outbox.wait(for: .pending, of: change)
    }

    @Test("A kill between the removal of a namespace and its discarding leaves no change to a later one with the name")
    func killDuringRemoval() async throws {
        try await TestOutbox.withOne { outbox in
            _ = try await fill(outbox)
            try await outbox.seal()
            outbox.names.set([])
            outbox.restart()
            // The start has read the database before the namespace is made again.
            _ = try await result { outbox.service.totals(of: "other", completion: $0) }
            outbox.names.set(["default"])
            #expect(try await outbox.isEmpty())
            #expect(outbox.service.metrics.changes.allSatisfy { $0.count == 0 })
        }
    }

    @Test("A kill before the removal of a namespace leaves its changes and credentials")
    func killBeforeRemoval() async throws {
        try await TestOutbox.withOne { outbox in
            let change = try await fill(outbox)
            try await outbox.seal()
            outbox.restart()
            #expect(try await outbox.find(change.id).state == .pending)
            // A later loss of the cache is no removal.
            outbox.names.set([])
            outbox.restart()
            _ = try await result { outbox.service.totals(of: "other", completion: $0) }
            outbox.names.set(["default"])
            #expect(try await outbox.find(change.id).draft == change.draft)
            #expect(try await result { outbox.service.credentials(in: "default", completion: $0) }.count == 1)
        }
    }

    @Test("A change of a namespace that was lost with the cache is not rejected, and is sent when it is made again")
    func lostNamespace() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            let gate = Gate("the request")
            defer { gate.open() }
            document.change { $0.faults = [.hang(gate)] }
            let change = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            try await document.origin.waitForRequests(1)
            outbox.names.set([])
            outbox.restart()
            // The outcome of the request is unknown, and the look that follows finds no namespace.
            let waiting = try await outbox.wait(for: .pending, of: change)
            #expect(waiting.mayBeApplied && document.requests("GET").isEmpty)
            outbox.names.set(["default"])
            outbox.service.namespaceMade("default")
            let sent = try await outbox.wait(for: .done, of: change)
            #expect(sent.attempts == 2 && document.effects == [#"{"a":2}"#])
        }
    }

    @Test("The discard of a namespace has an event for each change that had not ended")
    func discardEvents() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            let ended = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            _ = try await outbox.wait(for: .done, of: ended)
            let waiting = try await fill(outbox)
            try outbox.listen()
            try await outbox.seal()
            outbox.names.set([])
            try await outbox.discard()
            func ends() -> [ChangeSummary] {
                outbox.sink.events.compactMap { published in
                    guard case .change(let change) = published.event.subject, change.state.isEnded else { return nil }
                    return published.event.namespace == "default" ? change : nil
                }
            }
            try await poll("the end of the change") { !ends().isEmpty }
            #expect(ends().map(\.id) == [waiting.id] && ends().map(\.state) == [.cancelled])
        }
    }

    @Test("A discarding that fails is an error, and is repeated before the name is used again")
    func failedDiscard() async throws {
        try await TestOutbox.withOne { outbox in
            _ = try await fill(outbox)
            try outbox.refuseDiscards()
            try await outbox.seal()
            outbox.names.set([])
            await #expect(throws: OutboxFailure.self) { try await outbox.discard() }
            outbox.unseal()
            outbox.restart()
            await #expect(throws: OutboxFailure.self) { try await outbox.prepare() }
            #expect(outbox.log.lines.elements.contains { $0.contains("earlier version cannot be discarded") })
            #expect(outbox.service.metrics.changes.allSatisfy { $0.count == 0 })
            try outbox.allowDiscards()
            try await outbox.prepare()
            outbox.names.set(["default"])
            #expect(try await outbox.isEmpty())
        }
    }

    @Test("A kill between a new version and the discarding leaves no change; a kill before the version leaves all")
    func killDuringNewVersion() async throws {
        try await TestOutbox.withOne { outbox in
            let change = try await fill(outbox)
            try await outbox.seal(for: .newVersion("2"))
            outbox.restart()
            #expect(try await outbox.find(change.id).state == .pending)
            try await outbox.seal(for: .newVersion("2"))
            outbox.names.version.withLock { $0 = "2" }
            outbox.restart()
            #expect(try await outbox.isEmpty())
        }
    }

    @Test("A discarding that fails after a new version holds the changes back, and a later call ends it")
    func failedDiscardOfOldVersion() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            document.change { $0.faults = [.answer(429)] }
            try await outbox.setCredential("key", "Bearer right", for: document)
            let change = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            try await document.origin.waitForRequests(1)
            _ = try await outbox.wait(for: .pending, of: change)
            try outbox.refuseDiscards()
            try await outbox.seal(for: .newVersion("2"))
            outbox.names.version.withLock { $0 = "2" }
            await #expect(throws: OutboxFailure.self) { try await outbox.discard() }
            outbox.unseal()
            for _ in 0..<3 {
                outbox.clock.advance(by: .seconds(3600))
                outbox.service.clockChanged()
                #expect(try await outbox.find(change.id).state == .pending)
            }
            #expect(document.origin.requestCount == 1)
            await #expect(throws: OutboxFailure.self) {
                try await outbox.put(#"{"a":3}"#, to: document, seen: #"{"a":1}"#)
            }
            await #expect(throws: OutboxFailure.self) { try await outbox.prepare() }
            try outbox.allowDiscards()
            try await outbox.prepare()
            #expect(try await outbox.isEmpty())
            _ = try await outbox.put(#"{"a":3}"#, to: document, seen: #"{"a":1}"#)
            try await poll("the new change to be sent") { document.effects == [#"{"a":3}"#] }
        }
    }

    @Test("A namespace that is made again after the loss of the cache begins without changes if the call discards them")
    func discardedAfterLoss() async throws {
        try await TestOutbox.withOne { outbox in
            let change = try await fill(outbox)
            outbox.names.set([])
            outbox.restart()
            try await outbox.prepare()
            outbox.names.set(["default"])
            #expect(try await outbox.find(change.id).state == .pending)
            outbox.names.set([])
            try await outbox.seal(for: .creation)
            outbox.names.set(["default"])
            try await outbox.discard()
            outbox.unseal()
            #expect(try await outbox.isEmpty())
        }
    }

    @Test("A removal that fails leaves the namespace open for changes, and the next start keeps them")
    func failedRemoval() async throws {
        try await TestOutbox.withOne { outbox in
            let change = try await fill(outbox)
            try await outbox.seal()
            outbox.unseal()
            // The unsealing has ended.
            _ = try await result { outbox.service.totals(of: "other", completion: $0) }
            outbox.names.set([])
            outbox.restart()
            _ = try await result { outbox.service.totals(of: "other", completion: $0) }
            outbox.names.set(["default"])
            #expect(try await outbox.find(change.id).state == .pending)
        }
    }

    @Test("A credential for a namespace that is being removed, or does not exist, is refused")
    func sealedCredential() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument("{}")
            func isRefused() async throws -> Bool {
                do {
                    try await outbox.setCredential("key", "Bearer right", for: document)
                    return false
                } catch let error as OutboxFailure {
                    guard case .namespaceChanging("default") = error else { throw error }
                    return true
                }
            }
            try await outbox.seal()
            #expect(try await isRefused())
            outbox.unseal()
            #expect(try await !isRefused())
            outbox.names.set([])
            #expect(try await isRefused())
        }
    }
}
