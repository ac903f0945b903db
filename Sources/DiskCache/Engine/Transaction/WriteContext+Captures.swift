// Invariants:
// - Each resource has a use, in the same transaction that inserts its row, and is removed with its last use.
// - A page's entry and its captures change in one transaction: a kill leaves the old captures or the new one.
// - A dropped capture has no page any more, so no reader finds it. Its uses are removed in steps, because a capture may
//   use thousands of resources and other operations wait for a transaction. The next start removes the captures that
//   a kill left without a page.

import Primitives

extension WriteContext {
    /// The most uses that a step removes, because other operations wait for it.
    private static let captureStep = 100

    /// `holder`: of the stage that stores bodies under the number; `nil` for the capture of a page.
    func beginCapture(of holder: String? = nil) throws -> Int64 {
        let number = totals.nextSequence()
        try index.insertCapture(number)
        parts.runningCaptures.begin(number, of: holder)
        journal.onUndo { [captures = parts.runningCaptures] in captures.end(number) }
        return number
    }

    /// Ends the running stages of a holder. Their publishes, and the stores of their bodies, fail.
    func endStages(of holder: String) {
        let captures = parts.runningCaptures
        for stage in captures.stages(of: holder) {
            captures.end(stage)
            journal.onUndo { captures.begin(stage, of: holder) }
            journal.onCommit { captures.noteDropped() }
        }
    }

    /// Gives a running capture to the page of the entry `id`, and drops the page's oldest captures beyond `limit`.
    func adopt(_ capture: Int64, byPage id: Int64, keeping limit: Int) throws {
        try index.setPage(id, ofCapture: capture)
        for old in try index.captures(ofPage: id).filter({ $0 != capture }).dropLast(max(limit, 1) - 1) {
            try drop(old)
        }
        journal.onCommit { [captures = parts.runningCaptures] in captures.end(capture) }
    }

    func dropCaptures(ofPage id: Int64) throws {
        for capture in try index.captures(ofPage: id) { try drop(capture) }
    }

    private func drop(_ capture: Int64) throws {
        try index.setPage(nil, ofCapture: capture)
        journal.onCommit { [captures = parts.runningCaptures] in captures.noteDropped() }
    }

    /// Pins the resources that a pinned page uses, and unpins the others, so that the totals count pinned bytes right.
    func pinResources(ofPage id: Int64) throws {
        for resource in try index.resources(ofPage: id) { try pin(resource) }
    }

    private func pin(_ resource: Int64) throws {
        if let row = try index.row(forID: resource) { try pin(row) }
    }

    private func pin(_ row: EntryRow) throws {
        let pinned = try index.isUsedByPinnedPage(row.id)
        guard row.entry.pinned != pinned else { return }
        var record = row.entry.record
        record.pinned = pinned
        let entry = Entry(
            record, ttl: row.entry.ttl, expiryDate: row.entry.expiryDate, hits: row.entry.hits,
            lastAccessDate: row.entry.lastAccessDate)
        _ = try change(row, to: entry)
    }

    /// Removes up to ``captureStep`` uses of dropped captures, and the resources without another use. Returns `false`
    /// when no dropped capture is left.
    func removeDropped(_ freed: inout Eviction.Freed) throws -> Bool {
        var room = Self.captureStep
        let dropped = try index.capturesWithoutPage(limit: Self.captureStep + parts.runningCaptures.count)
            .filter { !parts.runningCaptures.contains($0) }
        for capture in dropped.prefix(Self.captureStep) {
            let resources = try index.resources(ofCapture: capture, limit: room)
            for resource in resources {
                try index.removeUse(of: resource, by: capture)
                freed.rows += 1
                guard let row = try index.row(forID: resource) else { continue }
                if try !index.isUsed(resource) {
                    try remove(row, as: nil)
                    freed.bytes += row.cost
                } else if row.entry.pinned {
                    try pin(row)
                }
            }
            if resources.count == room { return true }
            room -= resources.count
            try index.removeCapture(capture)
        }
        return dropped.count > Self.captureStep
    }
}

/// The captures that are running, which have no page yet. A commit that drops a capture sets ``hasDropped``.
final class RunningCaptures: Sendable {
    private struct State {
        var numbers: Set<Int64> = []
        /// The holders of the stages among the captures.
        var holders: [Int64: String] = [:]
        var hasDropped = false
    }

    private let state = Locked(State())

    func begin(_ number: Int64, of holder: String? = nil) {
        state.withLock { state in
            state.numbers.insert(number)
            state.holders[number] = holder
        }
    }

    func stages(of holder: String) -> [Int64] {
        state.withLock { $0.holders.filter { ExactText($0.value) == ExactText(holder) }.map(\.key) }
    }

    var count: Int { state.withLock { $0.numbers.count } }
    func contains(_ number: Int64) -> Bool { state.withLock { $0.numbers.contains(number) } }

    /// If the capture has no page, it is dropped.
    func end(_ number: Int64) {
        state.withLock { state in
            state.numbers.remove(number)
            state.holders[number] = nil
        }
    }

    func noteDropped() { state.withLock { $0.hasDropped = true } }
    /// Whether there may be dropped captures with uses that are not removed yet.
    var hasDropped: Bool { state.withLock { $0.hasDropped } }
    func removedDropped() { state.withLock { $0.hasDropped = false } }
}
