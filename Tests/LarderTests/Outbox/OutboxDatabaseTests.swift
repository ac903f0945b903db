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
}
