import DiskCache
import HTTPTypes
import Outbox
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The outbox sends changes")
struct OutboxServiceTests {
    @Test("A change on the version that its author saw is sent with If-Match, and the cache gets the new version")
    func sends() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            let tag = document.etag
            let change = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            _ = try await outbox.wait(for: .done, of: change)
            #expect(document.body == #"{"a":2}"#)
            let put = try #require(document.requests("PUT").first)
            #expect(put["If-Match"] == tag)
            #expect(put["Content-Type"] == "application/json")
            #expect(try await outbox.cached(document) == #"{"a":2}"#)
        }
    }

    @Test("After a 412 the change is merged with the rival's edit, and sent once more")
    func merges() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1,"b":1}"#)
            let request = try TestOutbox.request(#"{"a":2,"b":1}"#, to: document, seen: #"{"a":1,"b":1}"#)
            document.write(#"{"a":1,"b":3}"#)
            let change = try await outbox.accept(request)
            _ = try await outbox.wait(for: .done, of: change)
            #expect(document.body == #"{"a":2,"b":3}"#)
            #expect(document.effects.count == 1)
            #expect(document.requests("PUT").count == 2)
        }
    }

    @Test("A clash waits for a decision: ours, theirs, or another body", arguments: 0..<3)
    func conflict(choice: Int) async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            let request = try TestOutbox.request(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            document.write(#"{"a":3}"#)
            let held = try await outbox.wait(for: .conflict, of: try await outbox.accept(request))
            #expect(held.theirs?.body.map { String(decoding: $0, as: UTF8.self) } == #"{"a":3}"#)
            #expect(document.body == #"{"a":3}"#)
            let resolutions: [Resolution] = [.ours, .theirs, .body(Array(#"{"a":4}"#.utf8))]
            let decided = try await outbox.decide(.resolve(resolutions[choice]), held)
            if choice == 1 {
                #expect(decided.state == .cancelled)
                #expect(document.body == #"{"a":3}"#)
            } else {
                _ = try await outbox.wait(for: .done, of: held)
                #expect(document.body == [#"{"a":2}"#, "", #"{"a":4}"#][choice])
            }
        }
    }

    @Test("When the answer is lost, a GET finds the effect, and the change is not sent again")
    func lostAnswer() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            document.change { $0.faults = [.loseAnswer] }
            let change = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            _ = try await outbox.wait(for: .done, of: change, turning: true)
            #expect(document.effects == [#"{"a":2}"#])
            #expect(document.requests("PUT").count == 1)
        }
    }

    @Test("A change that waits for the pause of its origin shows the end and the cause of the pause")
    func originPause() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            document.change { $0.faults = [.answer(429, [.retryAfter: "60"])] }
            let first = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            try await document.origin.waitForRequests(1)
            let paused = try await outbox.wait(for: .pending, of: first)
            let end = outbox.clock.now() + .seconds(60)
            #expect(paused.nextAttempt == end && paused.problem == ChangeProblem(.throttled, status: 429))
            let behind = try await outbox.put(#"{"a":3}"#, to: document, seen: #"{"a":2}"#)
            var request = ChangeRequest(
                url: try CanonicalURL(document.url + "?other"), content: .body([0x31], type: nil))
            request.method = "POST"
            let other = try await outbox.accept(request)
            for id in [behind.id, other.id] {
                let waiting = try await outbox.find(id)
                #expect(waiting.nextAttempt == end && waiting.problem == ChangeProblem(.throttled))
            }
            let page = try await result {
                outbox.service.list(in: "default", states: nil, key: nil, after: nil, limit: 10, completion: $0)
            }
            #expect(page.changes.map(\.nextAttempt) == [end, end, end])
            #expect(page.changes.map(\.problem?.status) == [429, nil, nil])
        }
    }

    @Test("The answers to a new, a repeated and a retried change show the wait for the origin's pause")
    func returnedWait() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            document.change { $0.faults = [.answer(429, [.retryAfter: "60"])] }
            let first = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            try await document.origin.waitForRequests(1)
            _ = try await outbox.wait(for: .pending, of: first)
            let end = outbox.clock.now() + .seconds(60)
            var request = ChangeRequest(
                url: try CanonicalURL(document.url + "?other"), content: .body([0x31], type: nil))
            (request.method, request.idempotency) = ("POST", ("key", [0x31]))
            for _ in 0..<2 {
                let other = try await outbox.accept(request)
                #expect(other.nextAttempt == end && other.problem == ChangeProblem(.throttled), "\(other)")
            }
            let retried = try await outbox.decide(.retry, first)
            #expect(retried.state == .pending && retried.nextAttempt == end, "\(retried)")
            #expect(retried.problem?.kind == .throttled)
            #expect(document.requests("PUT").count == 1)
        }
    }

    @Test("A POST with a lost answer is held, and only a decision sends it again")
    func lostPost() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument("{}")
            document.change { $0.faults = [.loseAnswer] }
            var request = ChangeRequest(url: try CanonicalURL(document.url), content: .body([0x31], type: nil))
            request.method = "POST"
            let change = try await outbox.accept(request)
            let held = try await outbox.wait(for: .uncertain, of: change, turning: true)
            #expect(document.requests("POST").count == 1)
            try await outbox.decide(.retry, held)
            _ = try await outbox.wait(for: .done, of: change)
            #expect(document.requests("POST").count == 2)
        }
    }

    @Test("A change that was being sent when the process ended is looked at, and sent by the next process")
    func restart() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            let gate = Gate("the first request")
            defer { gate.open() }
            document.change { $0.faults = [.hang(gate)] }
            let change = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            try await document.origin.waitForRequests(1)
            outbox.restart()
            _ = try await outbox.wait(for: .done, of: change)
            #expect(document.effects == [#"{"a":2}"#])
            #expect(document.origin.requests.map(\.method) == ["PUT", "GET", "PUT", "GET"])
        }
    }

    @Test("A cancelled change is never sent, also after a restart")
    func cancel() async throws {
        try await TestOutbox.withOne { outbox in
            let port = try RefusingPort()
            var request = ChangeRequest(
                url: try CanonicalURL("http://127.0.0.1:\(port.number)/x"), content: .body([0x31], type: nil))
            request.base = .blind
            let change = try await outbox.accept(request)
            let pending = try await outbox.wait(for: .pending, of: change)
            #expect(try await outbox.decide(.cancel, pending).state == .cancelled)
            outbox.restart()
            #expect(try await outbox.find(change.id).state == .cancelled)
            #expect(try await result { outbox.service.countUnended(in: "default", completion: $0) } == 0)
        }
    }

    @Test("A confirmed DELETE removes the entry of the resource")
    func delete() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            let first = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            _ = try await outbox.wait(for: .done, of: first)
            // The base is the version in the cache.
            let change = try await outbox.accept(ChangeRequest(url: try CanonicalURL(document.url), content: .none))
            _ = try await outbox.wait(for: .done, of: change, turning: true)
            #expect(document.body == nil)
            #expect(try await outbox.cached(document) == nil)
        }
    }

    @Test("A patch applies to the version in the cache, and is sent as PATCH if the caller wants so")
    func patch() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            let first = try await outbox.put(#"{"a":2,"n":1.0}"#, to: document, seen: #"{"a":1}"#)
            _ = try await outbox.wait(for: .done, of: first)
            var request = ChangeRequest(
                url: try CanonicalURL(document.url), content: .mergePatch(["b": 3, "a": .null]))
            let second = try await outbox.accept(request)
            _ = try await outbox.wait(for: .done, of: second, turning: true)
            #expect(document.body == #"{"n":1.0,"b":3}"#)
            request.content = .jsonPatch([["op": "add", "path": "/c", "value": 4]])
            request.method = "PATCH"
            let third = try await outbox.accept(request)
            _ = try await outbox.wait(for: .done, of: third, turning: true)
            let sent = try #require(document.requests("PATCH").first)
            #expect(sent["Content-Type"] == "application/json-patch+json")
            #expect(String(decoding: sent.body, as: UTF8.self) == #"[{"op":"add","path":"/c","value":4}]"#)
        }
    }

    @Test("Changes under way and their credentials are discarded with their namespace")
    func discard() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            document.change { $0.faults = Array(repeating: .answer(503), count: 1000) }
            try await outbox.setCredential("key", "secret", for: document)
            let change = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            try await document.origin.waitForRequests(1)
            #expect(try await result { outbox.service.countUnended(in: "default", completion: $0) } == 1)
            try await outbox.discard()
            #expect(try await result { outbox.service.countUnended(in: "default", completion: $0) } == 0)
            #expect(try await result { outbox.service.credentials(in: "default", completion: $0) } == [])
            await #expect(throws: OutboxFailure.self) { _ = try await outbox.find(change.id) }
        }
    }

    @Test("The draft of a change, with its patch, does not delay other calls")
    func drafts() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            var request = ChangeRequest(
                url: try CanonicalURL(document.url), content: .jsonPatch([["op": "add", "path": "/b", "value": 2]]))
            request.base = .seen(Array(#"{"a":1}"#.utf8), etag: nil)
            let patch = request
            let service = outbox.service
            let order = Recorder<String>()
            let change: OutboxService.Acceptance = try await result { completion in
                // Both wait for the queue, in this order.
                service.queue.sync {
                    service.accept(patch, in: "default", by: "ada") { result in
                        order.append("change")
                        completion(result)
                    }
                    service.totals(of: "default") { _ in order.append("totals") }
                }
            }
            #expect(order.elements == ["totals", "change"])
            #expect(change.change.draft.ours == Array(#"{"a":1,"b":2}"#.utf8))
        }
    }

    @Test("A call is answered while many changes expire at one date, and not behind all of them")
    func expiries() async throws {
        try await TestOutbox.withOne { outbox in
            let document = try TestDocument(#"{"a":1}"#)
            let gate = Gate("the first request")
            defer { gate.open() }
            document.change { $0.faults = [.hang(gate)] }
            _ = try await outbox.put(#"{"a":2}"#, to: document, seen: #"{"a":1}"#)
            var request = try TestOutbox.request(#"{"a":3}"#, to: document, seen: #"{"a":2}"#)
            request.expires = outbox.clock.now() + .seconds(60)
            var last: Change?
            for _ in 0..<100 { last = try await outbox.accept(request) }
            let change = try #require(last)
            outbox.clock.advance(by: .seconds(60))
            let service = outbox.service
            let found: Change = try await result { completion in
                // Both wait for the queue, in this order.
                service.queue.sync {
                    service.clockChanged()
                    service.find(change.id, in: "default", completion: completion)
                }
            }
            #expect(found.state == .pending)
            _ = try await outbox.wait(for: .expired, of: change)
        }
    }

    @Test("Neighbours in a lane become one change, and listeners learn each state")
    func squash() async throws {
        try await TestOutbox.withOne { outbox in
            try outbox.listen()
            let port = try RefusingPort()
            var request = ChangeRequest(
                url: try CanonicalURL("http://127.0.0.1:\(port.number)/x"), content: .body([0x31], type: nil))
            request.base = .absent
            let first = try await outbox.accept(request)
            request.content = .body([0x32], type: nil)
            request.base = .seen([0x31], etag: nil)
            let second = try await outbox.accept(request)
            _ = try await outbox.wait(for: .pending, of: first)
            let survivor = try await squashed([first.id, second.id], outbox)
            #expect(survivor.id == second.id)
            #expect(survivor.draft.base == .absent)
            #expect(try await outbox.find(first.id).state == .cancelled)
            try await poll("the event of the cancelled change") {
                outbox.sink.events.contains { published in
                    guard case .change(let summary) = published.event.subject else { return false }
                    return summary.id == first.id && summary.state == .cancelled
                }
            }
        }
    }

    /// A change that is just being tried cannot be squashed, so the test tries again.
    private func squashed(_ ids: Set<Change.ID>, _ outbox: TestOutbox) async throws -> Change {
        let squashed: Change? = try await poll {
            do {
                return try await result { outbox.service.squash(ids, in: "default", completion: $0) }
            } catch OutboxFailure.refused(.busy) {
                return nil
            }
        } until: {
            $0 != nil
        }
        return try #require(squashed)
    }
}
