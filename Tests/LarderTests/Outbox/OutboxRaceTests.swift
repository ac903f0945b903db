import DiskCache
import HTTPTypes
import Outbox
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The outbox and concurrent calls")
struct OutboxRaceTests {
    private func reserve(_ document: TestDocument, _ body: String, _ outbox: TestOutbox) throws -> Reservation {
        let url = try CanonicalURL(document.url).string
        let reservation = outbox.cache.reserve(.url(canonical: url), kind: .download, url: url)
        try Array(body.utf8).withUnsafeBytes { try reservation.receive($0) }
        return reservation
    }

    private func entry(_ document: TestDocument, _ outbox: TestOutbox) async throws -> Entry? {
        try await outbox.cache.stored(CacheKey.url(canonical: try CanonicalURL(document.url).string).text)?.entry
    }

    @Test("A download that began before the confirmation of a change does not bring back the older body")
    func olderDownload() async throws {
        for isFirst in [true, false] {
            try await TestOutbox.withOne { outbox in
                let document = try TestDocument(#"{"a":1}"#)
                if !isFirst {
                    _ = try await reserve(document, #"{"a":1}"#, outbox).publish(EntryMetadata(ttl: .seconds(3600)))
                }
                let download = try reserve(document, #"{"a":1}"#, outbox)
                let change = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
                _ = try await outbox.wait(for: .done, of: change)
                let landed = try await download.publish(EntryMetadata(ttl: .seconds(3600)))
                guard case .notKept = landed else {
                    Issue.record("the older body is not kept")
                    return
                }
                #expect(try await outbox.cached(document) == #"{"a":2}"#)
                let held = try #require(try await entry(document, outbox))
                #expect(held.isFresh(at: outbox.clock.now()))
            }
        }
    }

    @Test("A cancelled change that may have had its effect makes the version in the cache stale")
    func cancelledUnknown() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            _ = try await reserve(document, #"{"a":1}"#, outbox).publish(EntryMetadata(ttl: .seconds(3600)))
            document.change { $0.faults = [.loseAnswer] }
            let change = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            try await poll("the lost answer") { document.effects.count == 1 }
            let held = try await outbox.wait(for: .pending, of: change)
            #expect(held.mayBeApplied)
            let fresh = try #require(try await entry(document, outbox))
            #expect(fresh.isFresh(at: outbox.clock.now()))
            try await outbox.decide(.cancel, held)
            let key = CacheKey.url(canonical: try CanonicalURL(document.url).string).text
            try await poll("the end of the view") { !outbox.service.isPending(key, in: "default") }
            let stale = try #require(try await entry(document, outbox))
            #expect(!stale.isFresh(at: outbox.clock.now()))
        }
    }

    @Test("A sealed namespace accepts no change, and one with changes is sealed only to discard them")
    func seal() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            let service = outbox.service
            func seal(discarding: Bool) async throws -> Int {
                try await outbox.seal(for: .newVersion("2"), discarding: discarding).unended
            }
            #expect(try await seal(discarding: false) == 0)
            do {
                _ = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
                Issue.record("a refusal")
            } catch let error as OutboxFailure {
                guard case .namespaceChanging("default") = error else { throw error }
            }
            service.unseal("default")
            document.change { $0.faults = Array(repeating: .answer(429), count: 1000) }
            _ = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            #expect(try await seal(discarding: false) == 1)
            _ = try await outbox.put(#"{"a":3}"#, to: document, seen: #"{"a":1}"#)
            #expect(try await seal(discarding: true) == 2)
            await #expect(throws: OutboxFailure.self) {
                _ = try await outbox.put(#"{"a":4}"#, to: document, seen: #"{"a":1}"#)
            }
        }
    }

    @Test("Requests under way are broken off when their namespace is discarded")
    func breakOff() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            let gate = Gate("the request")
            defer { gate.open() }
            document.change { $0.faults = [.hang(gate)] }
            _ = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            try await document.origin.waitForRequests(1)
            let service = outbox.service
            #expect(service.queue.sync { service.transfers.count } == 1)
            try await outbox.discard()
            #expect(service.queue.sync { service.transfers.isEmpty })
            gate.open()
            // A later change of the same origin is sent, so the place of the request is free again.
            document.change { $0.faults = [] }
            let next = try await outbox.put(#"{"a":3}"#, to: document, seen: #"{"a":1}"#)
            _ = try await outbox.wait(for: .done, of: next)
            #expect(document.effects == [#"{"a":3}"#])
        }
    }
}
