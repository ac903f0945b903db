import Primitives
import TestSupport
import Testing

@testable import Larder
@testable import Outbox

@Suite("Decisions about changes of the outbox")
struct OutboxDecisionTests {
    private func conflict(_ outbox: TestOutbox, ours: String, theirs: String) async throws -> Change {
        let document = try TestDocument(#"{"a":1}"#)
        let request = try TestOutbox.request(ours, to: document, seen: #"{"a":1}"#)
        document.write(theirs)
        return try await outbox.wait(for: .conflict, of: try await outbox.accept(request))
    }

    /// Begins a decision for ours, with a merge that waits until the test resumes the queue of merges.
    private func beginDecision(_ change: Change, _ outbox: TestOutbox) async throws -> Task<Change, any Error> {
        let service = outbox.service
        service.merges.suspend()
        let decision = Task { try await outbox.decide(.resolve(.ours), change) }
        try await poll("the decision") { service.queue.sync { !service.deciders.isEmpty } }
        return decision
    }

    private func refusal(_ body: () async throws -> Change) async throws -> Refusal? {
        do {
            _ = try await body()
            return nil
        } catch let error as OutboxFailure {
            guard case .refused(let refusal) = error else { throw error }
            return refusal
        }
    }

    @Test("A decision for ours is acknowledged after its merge, with the decided state")
    func merged() async throws {
        try await TestOutbox.withOne { outbox in
            let held = try await conflict(outbox, ours: #"{"a":2}"#, theirs: #"{"a":3,"b":1}"#)
            let decided = try await outbox.decide(.resolve(.ours), held)
            #expect(decided.state == .pending && decided.problem == nil && decided.theirs == nil)
            #expect(decided.draft.ours == Array(#"{"a":2,"b":1}"#.utf8))
        }
    }

    @Test("A decision for ours is refused, not acknowledged, when its merge is over the limit")
    func tooLong() async throws {
        var limits = OutboxLimits()
        limits.changeBytes = 32
        try await TestOutbox.withOne(limits: limits) { outbox in
            let held = try await conflict(
                outbox, ours: #"{"a":2,"b":"bbbbbbbb"}"#, theirs: #"{"a":3,"c":"cccccccc"}"#)
            #expect(try await refusal { try await outbox.decide(.resolve(.ours), held) } == .bodyTooLarge)
            #expect(try await outbox.find(held.id).state == .conflict)
        }
    }

    @Test("A decision that a full disk cannot keep after its merge is refused, not acknowledged")
    func notKept() async throws {
        try await TestOutbox.withOne { outbox in
            let held = try await conflict(outbox, ours: #"{"a":2}"#, theirs: #"{"a":3}"#)
            try outbox.execute(
                "CREATE TRIGGER full BEFORE UPDATE ON changes BEGIN SELECT RAISE(ABORT, 'no room'); END")
            #expect(try await refusal { try await outbox.decide(.resolve(.ours), held) } == .notKept)
            try outbox.execute("DROP TRIGGER full")
            #expect(try await outbox.find(held.id).state == .conflict)
        }
    }

    @Test("A second decision during the merge of the first is refused, and does not answer the first")
    func second() async throws {
        try await TestOutbox.withOne { outbox in
            let held = try await conflict(outbox, ours: #"{"a":2}"#, theirs: #"{"a":3}"#)
            let first = try await beginDecision(held, outbox)
            #expect(try await refusal { try await outbox.decide(.resolve(.theirs), held) } == .busy)
            #expect(try await refusal { try await outbox.decide(.retry, held) } == .busy)
            outbox.service.merges.resume()
            #expect(try await first.value.state == .pending)
        }
    }

    @Test("A decision is answered when its namespace is discarded during its merge")
    func discarded() async throws {
        try await TestOutbox.withOne { outbox in
            let held = try await conflict(outbox, ours: #"{"a":2}"#, theirs: #"{"a":3}"#)
            let decision = try await beginDecision(held, outbox)
            try await outbox.discard()
            #expect(try await refusal { try await decision.value } == .ended)
            outbox.service.merges.resume()
        }
    }

    @Test("A decision is answered when the server stops during its merge, and the change still waits")
    func stopped() async throws {
        try await TestOutbox.withOne { outbox in
            let held = try await conflict(outbox, ours: #"{"a":2}"#, theirs: #"{"a":3}"#)
            let service = outbox.service
            let decision = try await beginDecision(held, outbox)
            outbox.restart()
            do {
                _ = try await decision.value
                Issue.record("the server has stopped")
            } catch let error as OutboxFailure {
                guard case .stopping = error else { throw error }
            }
            service.merges.resume()
            #expect(try await outbox.find(held.id).state == .conflict)
        }
    }
}
