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

    @Test("The changes of a namespace leave the bodies with their namespace")
    func discard() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            document.change { $0.faults = Array(repeating: .answer(503), count: 1000) }
            _ = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            #expect(outbox.service.isPending(try key(document), in: "default"))
            try await result { outbox.service.discard("default", completion: $0) }
            #expect(!outbox.service.isPending(try key(document), in: "default"))
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

@Suite("The composition of bodies with pending changes")
struct PendingCompositionTests {
    private func change(_ id: Int64, _ edit: Edit, _ ours: String?, on base: Base) throws -> Change {
        let url = try CanonicalURL("https://origin.example/1")
        let method = edit == .delete ? "DELETE" : edit == .post ? "POST" : "PUT"
        let draft = ChangeDraft(
            namespace: "n", caller: "c", target: ChangeTarget(url, key: "k"), method: method, edit: edit,
            ours: ours.map { Array($0.utf8) }, base: base)
        return Change(id: id, draft: draft, created: Timestamp(milliseconds: 0))
    }

    private func seen(_ body: String) -> Base {
        .version(ResourceVersion(body: Array(body.utf8), validator: nil))
    }

    private func body(_ changes: [Change]) -> PendingBody? {
        var composition = PendingBody.Composition(over: nil, limit: 1000)
        for change in changes { composition.apply(change) }
        return composition.finish()
    }

    private func text(_ changes: [Change]) -> String? {
        guard case .own(let bytes, _) = body(changes)?.content else { return nil }
        return bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    @Test("A change on the body of the change before replaces it, and any other change is merged")
    func order() throws {
        let first = try change(1, .replace, #"{"a":1}"#, on: .absent)
        let second = try change(2, .replace, #"{"a":1,"b":2}"#, on: seen(#"{"a":1}"#))
        let rival = try change(3, .replace, #"{"a":1,"c":3}"#, on: seen(#"{"a":1}"#))
        #expect(text([first, second]) == #"{"a":1,"b":2}"#)
        #expect(text([first, second, rival]) == #"{"a":1,"b":2,"c":3}"#)
    }

    @Test("Where two changes clash, the body has the later one, unless its author prefers the other")
    func clash() throws {
        let first = try change(1, .replace, #"{"a":1}"#, on: .absent)
        var second = try change(2, .replace, #"{"a":2}"#, on: seen(#"{"a":0}"#))
        #expect(text([first, second]) == #"{"a":2}"#)
        second.draft.onConflict = .theirs
        #expect(text([first, second]) == #"{"a":1}"#)
        #expect(text([first, try change(3, .replace, "no JSON", on: seen("x"))]) == "no JSON")
        // Only the clashing value is that of the later change.
        let third = try change(3, .replace, #"{"a":3,"b":0}"#, on: seen(#"{"a":0,"b":0}"#))
        #expect(text([try change(1, .replace, #"{"a":1,"b":1}"#, on: .absent), third]) == #"{"a":3,"b":1}"#)
    }

    @Test("A change on a body that the origin has rewritten keeps the rewritten members, except with the policy hold")
    func rewritten() throws {
        let rewritten = #"{"a":1,"revision":8}"#
        let first = try change(1, .replace, rewritten, on: .absent)
        var second = try change(2, .replace, #"{"a":2,"revision":1}"#, on: seen(#"{"a":1,"revision":1}"#))
        second.rewrittenBase = BodyDigest(of: Array(rewritten.utf8))
        #expect(text([first, second]) == #"{"a":2,"revision":8}"#)
        second.draft.onConflict = .hold
        #expect(text([first, second]) == #"{"a":2,"revision":1}"#)
    }

    @Test("A blind change replaces every body, and a DELETE leaves none")
    func replaced() throws {
        let first = try change(1, .replace, "one", on: .absent)
        let blind = try change(2, .replace, "two", on: .blind)
        let delete = try change(3, .delete, nil, on: seen("two"))
        #expect(text([first, blind]) == "two")
        guard case .absent = body([first, blind, delete])?.content else {
            Issue.record("no resource")
            return
        }
        #expect(text([first, blind, delete, try change(4, .replace, "four", on: .absent)]) == "four")
    }

    @Test("Each set of changes has its own tag, also for equal bodies; a POST has no part in it")
    func tags() throws {
        let first = try change(1, .replace, "one", on: .absent)
        let second = try change(2, .replace, "one", on: seen("one"))
        let post = try change(3, .post, "x", on: .blind)
        let tags = [body([first]), body([first, second])].map { $0?.etag.text }
        #expect(Set(tags).count == 2)
        #expect(body([first, post])?.etag.text == tags[0])
        #expect(body([first, post])?.count == 1)
        #expect(body([post]) == nil)
    }
}
