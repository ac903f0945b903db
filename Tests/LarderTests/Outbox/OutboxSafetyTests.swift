import DiskCache
import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder
@testable import Outbox

@Suite("The outbox keeps secrets and obeys policies")
struct OutboxSafetyTests {
    @Test("A 401 blocks the change until the credential changes, and no answer or log line has the secret")
    func credential() async throws {
        try await TestOutbox.withOne { outbox in
            try outbox.listen()
            let document = try TestDocument(#"{"a":1}"#)
            document.change { $0.secret = "Bearer right" }
            try await outbox.setCredential("key", "Bearer wrong", for: document)
            var request = try TestOutbox.request(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            request.credential = "key"
            let change = try await outbox.accept(request)
            let blocked = try await outbox.wait(for: .blocked, of: change)
            #expect(blocked.attempts == 0)
            try await outbox.setCredential("key", "Bearer right", for: document)
            let done = try await outbox.wait(for: .done, of: change, turning: true)
            #expect(document.body == #"{"a":2}"#)
            let names = try await result { outbox.service.credentials(in: "default", completion: $0) }
            #expect(names.map(\.name) == ["key"])
            let shown = "\(outbox.log.lines.elements) \(done) \(names) \(outbox.sink.events.map(\.event))"
            #expect(!shown.contains("Bearer"))
            // The author alone may read the answers to its credential.
            #expect(try await outbox.cached(document) == nil)
        }
    }

    @Test("An answer to a credential is stored if the origin says that it is public")
    func publicAnswer() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            document.change { state in
                state.secret = "Bearer right"
                state.fields = [.cacheControl: "public, max-age=60"]
            }
            try await outbox.setCredential("key", "Bearer right", for: document)
            var request = try TestOutbox.request(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            request.credential = "key"
            _ = try await outbox.wait(for: .done, of: try await outbox.accept(request))
            #expect(try await outbox.cached(document) == #"{"a":2}"#)
        }
    }

    @Test("A credential that is missing or for another origin is refused at once")
    func foreignCredential() async throws {
        try await TestOutbox.withOne { outbox in
            let (document, other) = (try TestDocument("{}"), try TestDocument("{}"))
            var request = try TestOutbox.request(#"{"a":2}"#, to: document, seen: "{}")
            request.credential = "key"
            await #expect(throws: OutboxFailure.self) { try await outbox.accept(request) }
            try await outbox.setCredential("key", "Bearer right", for: other)
            await #expect(throws: OutboxFailure.self) { try await outbox.accept(request) }
            #expect(document.origin.requestCount == 0)
        }
    }

    @Test(
        "Fields with secrets and fields of the outbox are refused in a change",
        arguments: [HTTPField.Name.authorization, .cookie, .ifMatch, .proxyAuthorization])
    func reserved(name: HTTPField.Name) async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument("{}")
            var request = try TestOutbox.request(#"{"a":2}"#, to: document, seen: "{}")
            request.fields[name] = "x"
            do {
                try await outbox.accept(request)
                Issue.record("a refusal")
            } catch let error as OutboxFailure {
                guard case .outbox(.invalid(.reservedField)) = error else { throw error }
            }
            // A refused change creates no database.
            #expect(!FileManager.default.fileExists(atPath: outbox.directory))
        }
    }

    @Test("A forbidden origin is refused before the state directory exists")
    func forbidden() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument("{}")
            outbox.options.settings.origins = try OriginRules([])
            let request = try TestOutbox.request(#"{"a":2}"#, to: document, seen: "{}")
            do {
                try await outbox.accept(request)
                Issue.record("a refusal")
            } catch let error as OutboxFailure {
                guard case .origin(.addressRefused) = error else { throw error }
            }
            #expect(!FileManager.default.fileExists(atPath: outbox.directory))
            #expect(document.origin.requestCount == 0)
        }
    }

    @Test("An origin that is forbidden after the acceptance gets no further request")
    func tightened() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            document.change { $0.faults = [.answer(429)] }
            let change = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            try await poll("the first attempt") { document.origin.requestCount == 1 }
            outbox.options.settings.origins = try OriginRules([])
            let rejected = try await outbox.wait(for: .rejected, of: change, turning: true)
            #expect(rejected.problem?.kind == .originPolicy)
            #expect(document.origin.requestCount == 1)
        }
    }

    @Test("A redirect to another origin is not followed")
    func redirect() async throws {
        try await TestOutbox.withOne { outbox in
            let (document, other) = (try TestDocument(#"{"a":1}"#), try TestDocument(#"{"a":1}"#))
            document.change { $0.faults = [.answer(307, [.location: other.url])] }
            let change = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            let rejected = try await outbox.wait(for: .rejected, of: change)
            #expect(rejected.problem == ChangeProblem(.redirected, status: 307))
            #expect(other.origin.requestCount == 0)
        }
    }

    @Test("A relative redirect on the same origin is followed")
    func relativeRedirect() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            document.change { $0.faults = [.answer(308, [.location: "elsewhere?x=1"])] }
            let change = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            _ = try await outbox.wait(for: .done, of: change)
            #expect(document.requests("PUT").map(\.target) == ["/doc", "/elsewhere?x=1"])
        }
    }

    @Test("A repeated request with its key is the same change, and another one of the same namespace is refused")
    func idempotency() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            var request = try TestOutbox.request(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            request.idempotency = ("key-1", Array("payload".utf8))
            let first = try await outbox.accept(request)
            _ = try await outbox.wait(for: .done, of: first)
            #expect(try await outbox.accept(request).id == first.id)
            #expect(try await outbox.accept(request, by: "bob").id != first.id)
            outbox.names.set(["default", "other"])
            let second = try await outbox.accept(request, in: "other")
            #expect(second.id != first.id && second.draft.namespace == "other")
            request.idempotency = ("key-1", Array("other".utf8))
            do {
                try await outbox.accept(request)
                Issue.record("a refusal")
            } catch let error as OutboxFailure {
                guard case .outbox(.keyReused(first.id)) = error else { throw error }
            }
        }
    }

    @Test("A tag of a version that the cache does not have is refused, as is a patch without a base")
    func missingBase() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument("{}")
            var request = try TestOutbox.request(#"{"a":2}"#, to: document, seen: "{}")
            request.base = .tagged(document.etag)
            await #expect(throws: OutboxFailure.self) { try await outbox.accept(request) }
            request.content = .mergePatch(["a": 1])
            request.base = .blind
            await #expect(throws: OutboxFailure.self) { try await outbox.accept(request) }
            #expect(document.origin.requestCount == 0)
        }
    }

    @Test("A patch of a clean merge has the form of the change's patch, and leads from theirs to the merged body")
    func mergedPatch() {
        func merge(_ patch: Edit, ours: String) -> MergeResult {
            let order = MergeOrder.test(base: #"{"a":1,"b":1}"#, ours: ours, theirs: #"{"a":1,"b":2}"#, patch: patch)
            return order.merged()
        }
        let body = Array(#"{"a":5,"b":2}"#.utf8)
        #expect(
            merge(.mergePatch([]), ours: #"{"a":5,"b":1}"#) == .clean(body: body, patch: Array(#"{"a":5}"#.utf8)))
        #expect(
            merge(.jsonPatch([]), ours: #"{"a":5,"b":1}"#)
                == .clean(body: body, patch: Array(#"[{"op":"replace","path":"/a","value":5}]"#.utf8)))
        // A merge patch cannot set a member to null.
        #expect(
            merge(.mergePatch([]), ours: #"{"a":null,"b":1}"#)
                == .clean(body: Array(#"{"a":null,"b":2}"#.utf8), patch: nil))
        #expect(merge(.mergePatch([]), ours: #"{"a":1,"b":3}"#) == .clash)
    }

    @Test("A merge that prefers ours keeps the edits of theirs that do not clash, and no whole body but JSON is merged")
    func preferredMerge() {
        func merge(base: String, ours: String, theirs: String, patch: Edit? = nil) -> MergeResult {
            var order = MergeOrder.test(base: base, ours: ours, theirs: theirs, patch: patch)
            order.prefersOurs = true
            return order.merged()
        }
        let (base, ours, theirs) = (#"{"t":"Old","p":1}"#, #"{"t":"New","p":1}"#, #"{"t":"Rival","p":2}"#)
        let body = Array(#"{"t":"New","p":2}"#.utf8)
        #expect(merge(base: base, ours: ours, theirs: theirs) == .clean(body: body, patch: nil))
        #expect(
            merge(base: base, ours: ours, theirs: theirs, patch: .mergePatch([]))
                == .clean(body: body, patch: Array(#"{"t":"New"}"#.utf8)))
        #expect(merge(base: "old", ours: "new", theirs: "rival") == .clash)
    }
}

extension MergeOrder {
    fileprivate static func test(base: String, ours: String, theirs: String, patch: Edit?) -> MergeOrder {
        MergeOrder(
            flight: Flight(change: 1, number: 1), base: Array(base.utf8), ours: Array(ours.utf8),
            theirs: Array(theirs.utf8), patch: patch)
    }
}
