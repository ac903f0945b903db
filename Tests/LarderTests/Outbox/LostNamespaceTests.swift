import TestSupport
import Testing

@testable import Larder
@testable import Outbox

@Suite("The outbox of a namespace that was lost with the cache")
struct LostNamespaceTests {
    @Test("A refused creation, or a kill before the creation, discards no change; a kill after the creation all")
    func refusedCreation() async throws {
        try await TestOutbox.withOne { outbox in
            let (_, change) = try await outbox.addWaitingChange()
            outbox.names.set([])
            for isKilled in [false, true] {
                try await outbox.seal(for: .creation)
                if isKilled { outbox.restart() } else { outbox.unseal() }
                #expect(try await outbox.find(change.id).state == .pending)
                #expect(try await outbox.credentialCount() == 1)
            }
            // A later creation finds no note.
            try await outbox.prepare()
            outbox.names.set(["default"])
            outbox.restart()
            #expect(try await outbox.credentialCount() == 1)
            outbox.names.set([])
            try await outbox.seal(for: .creation)
            outbox.names.set(["default"])
            outbox.restart()
            #expect(try await outbox.isEmpty())
        }
    }

    @Test("A creation that discards the outbox sends and shows no change before the discard")
    func slowCreation() async throws {
        try await TestOutbox.withOne { outbox in
            let (document, change) = try await outbox.addWaitingChange()
            outbox.names.set([])
            try await outbox.seal(for: .creation)
            // The namespace exists while its quota is being settled.
            outbox.names.set(["default"])
            try await outbox.expectHeld(change, document)
            #expect(try await outbox.pendingBody(of: document) == nil)
            try await outbox.discard()
            outbox.unseal()
            #expect(try await outbox.isEmpty() && document.origin.requestCount == 1)
        }
    }

    @Test("A refused creation discards no change if another call creates the namespace meanwhile")
    func refusedSecondCreation() async throws {
        try await TestOutbox.withOne { outbox in
            let (_, change) = try await outbox.addWaitingChange()
            outbox.names.set([])
            try await outbox.prepare()
            try await outbox.seal(for: .creation)
            await #expect(throws: OutboxFailure.self) { try await outbox.prepare() }
            outbox.names.set(["default"])
            outbox.unseal()
            #expect(try await outbox.find(change.id).draft.target == change.draft.target)
            // The note does not outlast its call.
            outbox.restart()
            #expect(try await outbox.find(change.id).draft.target == change.draft.target)
        }
    }

    @Test("A discard that fails after the creation holds the changes back, and a later call ends it")
    func failedDiscard() async throws {
        try await TestOutbox.withOne { outbox in
            let (document, change) = try await outbox.addWaitingChange()
            outbox.names.set([])
            try outbox.refuseDiscards()
            try await outbox.seal(for: .creation)
            outbox.names.set(["default"])
            await #expect(throws: OutboxFailure.self) { try await outbox.discard() }
            outbox.service.namespaceMade("default")
            outbox.unseal()
            for isRestarted in [false, true] {
                if isRestarted { outbox.restart() }
                try await outbox.expectHeld(change, document)
                await #expect(throws: OutboxFailure.self) { try await outbox.prepare() }
            }
            try outbox.allowDiscards()
            #expect(try await outbox.prepare())
            #expect(try await outbox.isEmpty())
            #expect(try await !outbox.prepare())
        }
    }
}
