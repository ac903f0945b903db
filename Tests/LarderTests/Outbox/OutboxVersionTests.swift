import DiskCache
import HTTPTypes
import Outbox
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The outbox and the versions of a resource")
struct OutboxVersionTests {
    private func key(_ document: TestDocument) throws -> String {
        CacheKey.url(canonical: try CanonicalURL(document.url).string).text
    }

    /// Stores the document in the cache as a fresh version.
    private func store(
        _ document: TestDocument, type: String = "application/json", pinned: Bool = false, in outbox: TestOutbox
    ) async throws {
        let body = try #require(document.body)
        var metadata = EntryMetadata(ttl: .seconds(3600))
        (metadata.contentType, metadata.pinned) = (type, pinned)
        let reservation = outbox.cache.reserve(
            .url(canonical: try CanonicalURL(document.url).string), kind: .download, url: document.url)
        try reservation.receive(Array(body.utf8))
        let stored: Result<PublishOutcome, DiskCacheError> = await withCheckedContinuation { continuation in
            reservation.publish(metadata) { continuation.resume(returning: $0) }
        }
        _ = try stored.get()
        let entry = try #require(try await outbox.cache.stored(try key(document))?.entry)
        #expect(entry.isFresh(at: outbox.clock.now()))
    }

    // MARK: - Looks

    @Test("A look has the fields of the change, so that a resource which needs them does not count as deleted")
    func fieldsOfLook() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            let tenant = try #require(HTTPField.Name("X-Tenant"))
            document.change { $0.neededField = HTTPField(name: tenant, value: "ada") }
            var request = ChangeRequest(url: try CanonicalURL(document.url), content: .none)
            request.base = .seen(Array(#"{"a":1}"#.utf8), etag: nil)
            request.fields = [tenant: "ada", .contentType: "text/plain"]
            request.fields[HTTPField.Name("Prefer")!] = "respond-async"
            let change = try await outbox.accept(request)
            _ = try await outbox.wait(for: .done, of: change)
            #expect(document.requests("DELETE").count == 1 && document.body == nil)
            let look = try #require(document.requests("GET").first)
            #expect(look["X-Tenant"] == "ada" && look["Content-Type"] == nil && look["Prefer"] == nil)
            #expect(look["Cache-Control"] == "no-cache" && look["Accept-Encoding"] == "identity")
        }
    }

    @Test("The empty answer of an origin that died is no version of a rival")
    func emptyAnswer() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            document.change { $0.emptyReads = 1 }
            let change = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            _ = try await outbox.wait(for: .done, of: change, turning: true)
            #expect(document.body == #"{"a":2}"#)
            #expect(try await outbox.cached(document) == #"{"a":2}"#)
        }
    }

    @Test("A version that an origin sends as gzip, although the look wants none, is merged as JSON")
    func codedAnswer() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1,"b":2}"#)
            document.change { $0.isCoded = true }
            let change = try await outbox.put(#"{"a":2,"b":1}"#, to: document, seen: #"{"a":1,"b":1}"#)
            _ = try await outbox.wait(for: .done, of: change, turning: true)
            #expect(document.body == #"{"a":2,"b":2}"#)
            #expect(try await outbox.cached(document) == #"{"a":2,"b":2}"#)
        }
    }

    @Test("The answer to a look with fields of the change is not the version that other readers get")
    func storedLook() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            let tenant = try #require(HTTPField.Name("X-Tenant"))
            document.change { $0.neededField = HTTPField(name: tenant, value: "ada") }
            var request = try TestOutbox.request(#"{"a":2}"#, to: document, seen: #"{"a":0}"#)
            request.fields[tenant] = "ada"
            _ = try await outbox.wait(for: .conflict, of: try await outbox.accept(request))
            #expect(try await outbox.cached(document) == nil)
        }
    }

    @Test("A tag of 32 digits that is no digest of the seen body is not trusted, and a rival's edit is kept")
    func tagOfDigits() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1,"b":1}"#)
            document.change { $0.tag = "\"" + String(repeating: "0f", count: 16) + "\"" }
            let request = try TestOutbox.request(#"{"a":2,"b":1}"#, to: document, seen: #"{"a":1,"b":1}"#)
            document.write(#"{"a":1,"b":3}"#)
            _ = try await outbox.wait(for: .done, of: try await outbox.accept(request))
            #expect(document.body == #"{"a":2,"b":3}"#)
        }
    }

    // MARK: - Documents in another form

    @Test("The body that the author saw and the origin's body in another form of JSON are one version")
    func equivalentBase() async throws {
        try await TestOutbox.withOne { outbox in
            for isDelete in [false, true] {
                let document = try TestDocument(#"{ "a": 1.0, "b": 2 }"#)
                var request = ChangeRequest(
                    url: try CanonicalURL(document.url),
                    content: isDelete ? .none : .body(Array(#"{"a":2,"b":2}"#.utf8), type: "application/json"))
                request.base = .seen(Array(#"{"b":2,"a":1}"#.utf8), etag: nil)
                request.onConflict = .hold
                let change = try await outbox.accept(request)
                _ = try await outbox.wait(for: .done, of: change)
                #expect(document.body == (isDelete ? nil : #"{"a":2,"b":2}"#))
                #expect(document.requests(isDelete ? "DELETE" : "PUT").first?["If-Match"] != nil)
            }
        }
    }

    @Test("A rival's edit of JSON holds a change with the policy hold, and a DELETE")
    func otherBase() async throws {
        try await TestOutbox.withOne { outbox in
            for isDelete in [false, true] {
                let document = try TestDocument(#"{ "a": 1, "b": 3 }"#)
                var request = ChangeRequest(
                    url: try CanonicalURL(document.url),
                    content: isDelete ? .none : .body(Array(#"{"a":1,"b":3,"c":1}"#.utf8), type: "application/json"))
                request.base = .seen(Array(#"{"a":1,"b":2}"#.utf8), etag: nil)
                request.onConflict = .hold
                _ = try await outbox.wait(for: .conflict, of: try await outbox.accept(request))
                #expect(document.effects.isEmpty)
            }
        }
    }

    @Test("A patch that is sent as a whole body has the media type of its base, not that of the patch")
    func typeOfBase() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            try await store(document, type: "application/ld+json", in: outbox)
            let gate = Gate("the look before the change")
            defer { gate.open() }
            document.change { $0.reads = gate }
            var request = ChangeRequest(url: try CanonicalURL(document.url), content: .mergePatch(["a": 2]))
            request.fields = [.contentType: "application/merge-patch+json"]
            let change = try await outbox.accept(request)
            guard case .own(_, "application/ld+json") = try await outbox.pendingBody(of: document)?.content else {
                Issue.record("another type for readers")
                return
            }
            gate.open()
            _ = try await outbox.wait(for: .done, of: change)
            let types = document.requests("PUT").map { $0["Content-Type"] }
            #expect(types == ["application/ld+json"])
        }
    }

    // MARK: - Versions in the cache

    @Test("A change that a redirect leads to another URL leaves no fresh older version under its own URL")
    func redirected() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            try await store(document, in: outbox)
            document.change { state in
                state.location = "/elsewhere"
                state.faults = [.answer(307, [.location: "/elsewhere"])]
            }
            let change = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            _ = try await outbox.wait(for: .done, of: change)
            #expect(document.body == #"{"a":2}"#)
            try await leavesView(document, in: outbox)
            #expect(try await outbox.cached(document) == nil)
        }
    }

    @Test("A change with a version that may not be stored leaves no older version in the cache")
    func privateVersion() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            try await store(document, in: outbox)
            document.change { $0.secret = "Bearer right" }
            try await outbox.setCredential("key", "Bearer right", for: document)
            var request = try TestOutbox.request(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            request.credential = "key"
            _ = try await outbox.wait(for: .done, of: try await outbox.accept(request))
            try await leavesView(document, in: outbox)
            #expect(try await outbox.cached(document) == nil)
        }
    }

    @Test(
        "A change stays in the view while the index fails and the older version cannot leave it",
        arguments: [false, true])
    func failingIndex(_ isPinned: Bool) async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            try await store(document, pinned: isPinned, in: outbox)
            document.change { $0.secret = "Bearer right" }
            try await outbox.setCredential("key", "Bearer right", for: document)
            for event in ["UPDATE", "DELETE"] {
                try await outbox.executeInIndex(
                    "CREATE TRIGGER fail\(event) BEFORE \(event) ON entries BEGIN SELECT RAISE(ABORT, 'failing'); END")
            }
            var request = try TestOutbox.request(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            request.credential = "key"
            let change = try await outbox.accept(request)
            // One line is of the answer to the request, and one of the removal after the read.
            try await poll("the failed removal") {
                outbox.log.lines.elements.count { $0.contains("cannot be removed from the cache") } >= 2
            }
            let waiting = try await outbox.find(change.id)
            let isPending = outbox.service.isPending(try key(document), in: "default")
            #expect(waiting.state == .confirmed && isPending)
            for event in ["UPDATE", "DELETE"] { try await outbox.executeInIndex("DROP TRIGGER fail\(event)") }
            _ = try await outbox.wait(for: .done, of: change, turning: true)
            try await leavesView(document, in: outbox)
            let entry = try await outbox.cache.stored(try key(document))?.entry
            #expect(isPinned ? entry?.isFresh(at: outbox.clock.now()) == false : entry == nil)
        }
    }

    @Test("A version that a cancelled change may have replaced becomes stale, also after a failure of the index")
    func failingIndexAtCancellation() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            try await store(document, in: outbox)
            document.change { $0.faults = [.loseAnswer] }
            let change = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            try await poll("the effect") { document.effects.count == 1 }
            #expect(try await outbox.wait(for: .pending, of: change).mayBeApplied)
            try await outbox.executeInIndex(
                "CREATE TRIGGER failing BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'failing'); END")
            _ = try await outbox.decide(.cancel, change)
            try await leavesView(document, in: outbox)
            let key = try key(document)
            #expect(try await outbox.cache.stored(key)?.entry.isFresh(at: outbox.clock.now()) == true)
            let service = outbox.service
            #expect(service.queue.sync { service.freshVersions.count } == 1)
            try await outbox.executeInIndex("DROP TRIGGER failing")
            service.maintain()
            try await poll("the stale version") { service.queue.sync { service.freshVersions.isEmpty } }
            #expect(try await outbox.cache.stored(key)?.entry.isFresh(at: outbox.clock.now()) == false)
        }
    }

    @Test("A pinned version stays, and is stale, when a newer one may not be stored")
    func pinnedVersion() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            try await store(document, pinned: true, in: outbox)
            document.change { $0.secret = "Bearer right" }
            try await outbox.setCredential("key", "Bearer right", for: document)
            var request = try TestOutbox.request(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            request.credential = "key"
            _ = try await outbox.wait(for: .done, of: try await outbox.accept(request))
            try await leavesView(document, in: outbox)
            let entry = try #require(try await outbox.cache.stored(try key(document))?.entry)
            #expect(!entry.isFresh(at: outbox.clock.now()) && entry.pinned)
        }
    }

    @Test("A POST makes the version of its URL stale, and is done with the answer")
    func post() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            try await store(document, in: outbox)
            var request = ChangeRequest(url: try CanonicalURL(document.url), content: .body([0x31], type: nil))
            request.method = "POST"
            _ = try await outbox.wait(for: .done, of: try await outbox.accept(request))
            #expect(document.origin.requests.map(\.method) == ["POST"])
            let entry = try #require(try await outbox.cache.stored(try key(document))?.entry)
            #expect(!entry.isFresh(at: outbox.clock.now()))
        }
    }

    private func leavesView(_ document: TestDocument, in outbox: TestOutbox) async throws {
        let key = try key(document)
        try await poll("the end of the change in the view") { !outbox.service.isPending(key, in: "default") }
    }
}
