import DiskCache
import Outbox
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Confirmed changes leave the bodies that readers see")
struct PendingViewTests {
    private func text(_ body: PendingBody?) throws -> String? {
        guard case .own(let bytes, _) = body?.content else { return nil }
        return bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    private func key(_ document: TestDocument) throws -> String {
        CacheKey.url(canonical: try CanonicalURL(document.url).string).text
    }

    @Test("A confirmed change stays in the body until a version is in the cache that was read after the confirmation")
    func confirmed() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            let gate = Gate("the read after the confirmation")
            defer { gate.open() }
            document.change { $0.reads = gate }
            let before = outbox.pending.ticket
            let change = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            _ = try await outbox.wait(for: .confirmed, of: change)
            try await document.origin.waitForRequests(2)
            #expect(try text(try await outbox.pendingBody(of: document)) == #"{"a":2}"#)
            func note(ticket: UInt64) throws {
                outbox.pending.noteStored(
                    PendingKeys.StoredVersion(
                        namespace: "default", key: try key(document), ticket: ticket, etag: document.etag,
                        digest: BodyDigest(of: Array(#"{"a":2}"#.utf8)).bytes))
            }
            // A download that began before the confirmation may have the body without the change.
            try note(ticket: before)
            #expect(try await outbox.find(change.id).state == .confirmed)
            #expect(try await outbox.pendingBody(of: document)?.count == 1)
            try note(ticket: outbox.pending.ticket)
            _ = try await outbox.wait(for: .done, of: change)
            #expect(try await outbox.pendingBody(of: document) == nil)
            #expect(!outbox.service.isPending(try key(document), in: "default"))
        }
    }

    @Test("A change that has ended is in no body, and one that waits for a decision is")
    func ended() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            let request = try TestOutbox.request(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            document.write(#"{"a":3}"#)
            let held = try await outbox.wait(for: .conflict, of: try await outbox.accept(request))
            // The look before the decision has stored the rival's version, with which the change clashes.
            #expect(try await outbox.cached(document) == #"{"a":3}"#)
            #expect(try text(try await outbox.pendingBody(of: document)) == #"{"a":2}"#)
            try await outbox.decide(.resolve(.body(Array(#"{"a":4}"#.utf8))), held)
            _ = try await outbox.wait(for: .done, of: held)
            #expect(try await outbox.pendingBody(of: document) == nil)
        }
    }

    @Test("Readers without the right to send do not see changes with a credential, and see all others")
    func credential() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            let gate = Gate("the look")
            defer { gate.open() }
            document.change { $0.reads = gate }
            try await outbox.setCredential("work", "secret", for: document)
            var request = try TestOutbox.request(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            request.credential = "work"
            try await outbox.accept(request)
            #expect(try text(try await outbox.pendingBody(of: document)) == #"{"a":2}"#)
            #expect(try await outbox.pendingBody(of: document, seesSecrets: false) == nil)
            request.credential = nil
            request.content = .body(Array(#"{"a":1,"b":1}"#.utf8), type: nil)
            try await outbox.accept(request)
            let all = try JSON(parsing: Array(try text(try await outbox.pendingBody(of: document))!.utf8))
            #expect(all == ["a": 2, "b": 1])
            let others = try await outbox.pendingBody(of: document, seesSecrets: false)
            #expect(try text(others) == #"{"a":1,"b":1}"# && others?.count == 1)
            // A patch without a credential is made on the body that all readers see.
            var patch = ChangeRequest(
                url: try CanonicalURL(document.url), content: .mergePatch(["c": 1]))
            let made = try await outbox.accept(patch)
            #expect(made.draft.ours.map { String(decoding: $0, as: UTF8.self) } == #"{"a":1,"b":1,"c":1}"#)
            patch.credential = "work"
            let secret = try await outbox.accept(patch)
            #expect(try JSON(parsing: try #require(secret.draft.ours)) == ["a": 2, "b": 1, "c": 1])
        }
    }

    @Test("The changes of a namespace leave the bodies with their namespace")
    func discard() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            document.change { $0.faults = Array(repeating: .answer(503), count: 1000) }
            _ = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            #expect(outbox.service.isPending(try key(document), in: "default"))
            try await outbox.discard()
            #expect(!outbox.service.isPending(try key(document), in: "default"))
        }
    }

    @Test("A new change extends the body with the changes before, which are not read and merged again")
    func extended() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            document.change { $0.faults = Array(repeating: .answer(429), count: 1000) }
            _ = try await outbox.put(#"{"a":1,"b":2}"#, to: document, seen: #"{"a":1}"#)
            _ = try await outbox.put(#"{"a":1,"c":3}"#, to: document, seen: #"{"a":1}"#)
            #expect(try text(try await outbox.pendingBody(of: document)) == #"{"a":1,"b":2,"c":3}"#)
            // A body that is made of all changes has no bodies of these.
            try outbox.execute("DELETE FROM bodies WHERE role = 'ours'")
            let tags = [try await outbox.pendingBody(of: document)?.etag.text]
            _ = try await outbox.put(#"{"a":1,"d":4}"#, to: document, seen: #"{"a":1}"#)
            let body = try #require(try await outbox.pendingBody(of: document))
            #expect(try text(body) == #"{"a":1,"b":2,"c":3,"d":4}"#)
            #expect(body.count == 3 && !tags.contains(body.etag.text))
            #expect(outbox.service.pendingBodies.withLock { ($0.count, $0.byteCount) } == (1, 25))
        }
    }

    @Test("A state of a change that alters no body leaves the body as it is, and an end makes it anew")
    func states() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            let gate = Gate("the first request")
            defer { gate.open() }
            document.change { $0.faults = [.hang(gate)] }
            let first = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            let second = try await outbox.put(#"{"a":2,"b":3}"#, to: document, seen: #"{"a":2}"#)
            let key = try key(document)
            _ = try await outbox.wait(for: .sending, of: first)
            let before = outbox.pending.revision(of: key, in: "default")
            try await outbox.decide(.retry, second)
            #expect(outbox.pending.revision(of: key, in: "default") == before)
            #expect(try text(try await outbox.pendingBody(of: document)) == #"{"a":2,"b":3}"#)
            try await outbox.decide(.cancel, second)
            #expect(try text(try await outbox.pendingBody(of: document)) == #"{"a":2}"#)
        }
    }

    @Test("The bodies of a key leave the memory with its changes")
    func forgotten() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            document.change { $0.faults = [.answer(429)] }
            let change = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            #expect(try text(try await outbox.pendingBody(of: document)) == #"{"a":2}"#)
            _ = try await outbox.wait(for: .done, of: change, turning: true)
            try await poll("the end of the view") { outbox.service.pendingBodies.withLock { $0.count == 0 } }
            #expect(outbox.service.pendingBodies.withLock { $0.byteCount } == 0)
        }
    }

    @Test("A resource has a limit of edits that have not ended, and a POST does not count")
    func limit() async throws {
        var limits = OutboxLimits()
        limits.editsPerResource = 2
        try await TestOutbox.withOne(limits: limits) { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            document.change { $0.faults = Array(repeating: .answer(429), count: 1000) }
            for _ in 0..<2 { _ = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#) }
            do {
                _ = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
                Issue.record("a refusal")
            } catch let error as OutboxFailure {
                guard case .outbox(.tooManyEdits(document.url, 2)) = error else { throw error }
            }
            var post = ChangeRequest(url: try CanonicalURL(document.url), content: .body([0x31], type: nil))
            post.method = "POST"
            _ = try await outbox.accept(post)
        }
    }

    @Test("After a restart, every key counts as pending until the outbox has been read")
    func waiting() throws {
        let pending = PendingKeys()
        #expect(!pending.contains("k", in: "n"))
        pending.wait()
        #expect(pending.contains("other", in: "n"))
        pending.begin(with: [(1, "k", "n"), (2, "k", "n")])
        #expect(pending.contains("k", in: "n"))
        #expect(!pending.contains("other", in: "n") && !pending.contains("k", in: "m"))
        let revision = pending.revision(of: "k", in: "n")
        pending.remove(1, key: "k", in: "n")
        #expect(pending.contains("k", in: "n"))
        #expect(pending.revision(of: "k", in: "n") != revision)
        pending.remove(2, key: "k", in: "n")
        #expect(!pending.contains("k", in: "n"))
    }
}
