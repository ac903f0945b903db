import DiskCache
import Primitives
import TestSupport
import Testing

@testable import Larder
@testable import Outbox

@Suite("Discards of a namespace's outbox that are due")
struct DueDiscardTests {
    /// Leaves a change and a credential of version 1, because the discard of version 2 fails.
    ///
    /// - Parameter calls: the number of calls for version 2, of which one has ended.
    private func leaveChange(in outbox: TestOutbox, calls: Int = 1) async throws -> (TestDocument, Change) {
        let (document, change) = try await outbox.addWaitingChange()
        try outbox.refuseDiscards()
        for _ in 0..<calls { try await outbox.seal(for: .newVersion("2")) }
        outbox.names.version.withLock { $0 = "2" }
        await #expect(throws: OutboxFailure.self) { try await outbox.discard() }
        outbox.unseal()
        return (document, change)
    }

    private func expectRefused(_ call: () async throws -> Void) async throws {
        do {
            try await call()
            Issue.record("a refusal")
        } catch let error as OutboxFailure {
            guard case .namespaceChanging("default") = error else { throw error }
        }
    }

    @Test(
        "A later call that fails replaces no note of a version that has happened, and frees none of its changes",
        arguments: [nil, "3"] as [String?], [false, true])
    func replacedNote(laterVersion: String?, isRestarted: Bool) async throws {
        let cause = laterVersion.map { DiscardCause.newVersion($0) } ?? .removal
        try await TestOutbox.withOne { outbox in
            let (document, change) = try await leaveChange(in: outbox)
            if isRestarted { outbox.restart() }
            await #expect(throws: OutboxFailure.self) {
                try await outbox.seal(for: cause)
                // The call fails after the seal.
                outbox.unseal()
            }
            try await outbox.expectHeld(change, document)
            try outbox.allowDiscards()
            let seal = try await outbox.seal(for: cause)
            #expect(seal.unended == 0 && seal.hasDiscarded)
            outbox.unseal()
            #expect(try await outbox.isEmpty())
            #expect(document.effects.isEmpty)
        }
    }

    @Test("A late call for a version that another call has given discards no change of this version")
    func lateCall() async throws {
        try await TestOutbox.withOne { outbox in
            outbox.names.version.withLock { $0 = "2" }
            let (_, change) = try await outbox.addWaitingChange()
            for isKilled in [false, true] {
                try await outbox.seal(for: .newVersion("2"))
                if isKilled { outbox.restart() } else { outbox.unseal() }
                #expect(try await outbox.find(change.id).state == .pending)
                #expect(try await outbox.credentialCount() == 1)
            }
        }
    }

    @Test("A repeated call with an idempotency key gets no change that is to be discarded")
    func repeatedCall() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            document.change { $0.faults = [.answer(429)] }
            try await outbox.setCredential("key", "Bearer right", for: document)
            func put() async throws -> Change {
                var request = ChangeRequest(
                    url: try CanonicalURL(document.url), content: .body(Array(#"{"a":2}"#.utf8), type: nil))
                request.base = .seen(Array(#"{"a":1}"#.utf8), etag: nil)
                request.idempotency = ("k", Array("payload".utf8))
                return try await result { outbox.service.accept(request, in: "default", by: "", completion: $0) }.change
            }
            let change = try await put()
            #expect(try await put().id == change.id)
            try await outbox.seal(for: .newVersion("2"))
            try await expectRefused { _ = try await put() }
            outbox.unseal()
            #expect(try await put().id == change.id)
        }
    }

    @Test("A later version without outbox=discard takes over no credentials that an earlier one should have discarded")
    func keptCredential() async throws {
        try await TestOutbox.withOne { outbox in
            try await outbox.addCredential()
            try outbox.refuseDiscards()
            try await outbox.seal(for: .newVersion("2"))
            outbox.names.version.withLock { $0 = "2" }
            await #expect(throws: OutboxFailure.self) { try await outbox.discard() }
            outbox.unseal()
            try outbox.allowDiscards()
            try await outbox.seal(for: .newVersion("3"), discarding: false)
            outbox.names.version.withLock { $0 = "3" }
            outbox.unseal()
            #expect(try await outbox.isEmpty())
        }
    }

    @Test("Changes that are to be discarded are not sent while another call has sealed their namespace")
    func sentWhileSealed() async throws {
        try await TestOutbox.withOne { outbox in
            let (document, change) = try await leaveChange(in: outbox, calls: 2)
            outbox.service.maintain()
            try await outbox.expectHeld(change, document)
            try outbox.allowDiscards()
            outbox.unseal()
            #expect(try await outbox.isEmpty())
        }
    }

    @Test(
        "Readers and subscriptions of a new version see none of the changes and credentials that are to be discarded",
        arguments: [false, true])
    func seenInNewVersion(isRestarted: Bool) async throws {
        try await TestOutbox.withOne { outbox in
            let (document, _) = try await leaveChange(in: outbox)
            if isRestarted { outbox.restart() }
            #expect(try await outbox.pendingBody(of: document) == nil)
            let key = CacheKey.url(canonical: try CanonicalURL(document.url).string).text
            #expect(!outbox.service.isPending(key, in: "default"))
            let found = await withCheckedContinuation { continuation in
                outbox.service.credential("key", in: "default") { continuation.resume(returning: $0) }
            }
            let isMissing = if case .missing = found { true } else { false }
            #expect(isMissing)
        }
    }

    @Test("A call with another cause replaces no note of a call that is under way")
    func replacedNoteUnderWay() async throws {
        try await TestOutbox.withOne { outbox in
            try await outbox.addCredential()
            try await outbox.seal(for: .newVersion("2"))
            for cause in [DiscardCause.removal, .newVersion("3"), .newVersion(nil)] {
                try await expectRefused { try await outbox.seal(for: cause) }
            }
            try await expectRefused { try await outbox.seal(for: .newVersion("2"), discarding: false) }
            try await outbox.seal(for: .newVersion("2"))
            outbox.names.version.withLock { $0 = "2" }
            outbox.restart()
            #expect(try await outbox.isEmpty())
        }
    }

    @Test("A later call causes no discard that only an earlier, failed call wanted")
    func unwantedDiscard() async throws {
        try await TestOutbox.withOne { outbox in
            try await outbox.addCredential()
            try await outbox.seal(for: .newVersion("3"))
            try outbox.execute("CREATE TRIGGER stay BEFORE DELETE ON removals BEGIN SELECT RAISE(ABORT, 'no'); END")
            outbox.unseal()
            await #expect(throws: OutboxFailure.self) {
                try await outbox.seal(for: .newVersion("3"), discarding: false)
            }
            try outbox.execute("DROP TRIGGER stay")
            try await outbox.seal(for: .newVersion("3"), discarding: false)
            outbox.names.version.withLock { $0 = "3" }
            outbox.unseal()
            #expect(try await outbox.credentialCount() == 1)
        }
    }
}
