import Primitives
import TestSupport
import Testing

@testable import Outbox

/// The limit of a namespace's bytes after the acceptance of its changes.
struct OutboxRoomTests {
    private let folder: TemporaryDirectory
    private let now = Timestamp(seconds: 1_800_000_000)

    init() throws { folder = try TemporaryDirectory() }

    private func open(_ change: (inout OutboxLimits) -> Void) throws -> OutboxStore {
        var limits = OutboxLimits()
        change(&limits)
        return try OutboxStore(directory: folder.path, limits: limits)
    }

    private func theirs(_ count: Int) -> ResourceVersion {
        ResourceVersion(body: Array(repeating: 0x79, count: count), validator: Validator(strong: "\"2\""))
    }

    @Test("The origin's version of a conflict keeps its digest and loses its body when the namespace has no room")
    func theirsWithoutRoom() throws {
        let store = try open { $0.bytesPerNamespace = 1000 }
        let other = try store.insert(.put(String(repeating: "x", count: 600), on: nil), now: now).change
        var change = try store.insert(.put("a=2", on: "a=1"), now: now).change
        change.state = .conflict
        change.theirs = theirs(500)
        try store.update([change], now: now)
        let kept = try #require(try store.change(change.id))
        #expect(kept.theirs == ResourceVersion(body: nil, digest: theirs(500).digest, validator: theirs(500).validator))
        #expect(try store.totals(namespace: "n").pendingBytes <= 1000)
        // An unaltered state does not look for more room.
        try store.update([kept], now: now)
        #expect(try store.change(change.id) == kept)
        // The same version is kept whole when there is room.
        var cancelled = other
        cancelled.state = .cancelled
        try store.update([cancelled], now: now)
        try store.update([change], now: now)
        #expect(try store.change(change.id) == change)
        #expect(try store.totals(namespace: "n").pendingBytes == Int64(change.byteCount))
    }

    @Test("A decision with a body for which the namespace has no room is refused, and the states of requests never are")
    func bodyWithoutRoom() throws {
        let store = try open { $0.bytesPerNamespace = 1000 }
        try store.insert(.put(String(repeating: "x", count: 600), on: nil), now: now)
        var change = try store.insert(.put("a=2", on: "a=1"), now: now).change
        let before = change
        change.draft.ours = Array(repeating: 0x7A, count: 500)
        #expect(throws: OutboxError.tooManyBytes(namespace: "n", limit: 1000)) {
            try store.update([change], now: now)
        }
        #expect(try store.change(change.id) == before)
        // The limit may be lower than in an earlier process.
        store.close()
        let full = try open { $0.bytesPerNamespace = 100 }
        for state in [ChangeState.sending, .confirmed, .conflict, .done] {
            change = before
            change.state = state
            if state == .conflict { change.theirs = theirs(50) }
            try full.update([change], now: now)
            #expect(try full.change(change.id)?.state == state)
        }
    }

    @Test("Ended changes are pruned with the insertion of new ones, and not only by the upkeep")
    func endedBytes() throws {
        let store = try open {
            $0.endedBytes = 3000
            $0.endedChanges = 5
        }
        for count in [1000, 10] {
            for _ in 0..<20 {
                var change = try store.insert(.put(String(repeating: "x", count: count), on: nil), now: now).change
                let totals = try store.totals(namespace: "n")
                #expect(totals.endedBytes <= 3000)
                #expect(totals.counts[.cancelled, default: 0] <= 10)
                change.state = .cancelled
                try store.update([change], now: now)
            }
        }
    }
}
