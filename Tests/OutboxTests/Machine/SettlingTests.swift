import Primitives
import Testing

@testable import Outbox

/// Versions that are younger at each look than their tags can tell.
struct SettlingTests {
    private let shell = Shell()

    /// Answers at most `limit` looks with a new version each, until a request goes out or the change is held. `first`
    /// is the number of the first version. Returns the dates of the looks.
    private func look(
        _ id: Change.ID, first: Int = 1, limit: Int = 100, tag: (Int) -> String?
    ) -> [Timestamp] {
        var dates: [Timestamp] = []
        for _ in 0..<1000 where shell.sends.isEmpty && shell.state(id) == .pending && dates.count < limit {
            if shell.reads.isEmpty { shell.sleep() }
            guard !shell.reads.isEmpty else { continue }
            let number = first + dates.count
            dates.append(shell.now)
            shell.read(200, "a=1&n=\(number)", etag: tag(number), modified: shell.now)
        }
        return dates
    }

    @Test("A version that never settles is looked at with growing pauses and a problem, and then taken as it is")
    func bound() throws {
        let id = shell.accept(try .put("a=2&n=0", on: "a=1&n=0", etag: nil))
        let dates = look(id) { _ in nil }
        #expect(dates.count == Soundness.lookLimit)
        let pauses = zip(dates, dates.dropFirst()).map { $1 - $0 }
        #expect(pauses.allSatisfy { $0 >= Soundness.settling } && pauses.max()! > .seconds(10))
        #expect(pauses.prefix(Soundness.promptLooks) == Array(repeating: Soundness.settling, count: 3)[...])
        let shown = shell.published.filter { $0.problem?.kind == .unsettled && $0.state == .pending }
        #expect(shown.count == dates.count - 1 - Soundness.promptLooks && shown.allSatisfy { $0.nextAttempt != nil })
        #expect(shell.sends.map(\.guarding) == [.unguarded] && shell.rows[id]!.isUnguarded)
        #expect(shell.sends.map(\.content) == [.body(Array("a=2&n=12".utf8))])
    }

    @Test("A strong tag that never settles guards the request, unless the origin refuses it again and again")
    func tag() throws {
        let id = shell.accept(try .put("a=2&n=0", on: "a=1&n=0", etag: nil))
        let dates = look(id) { "\"\($0)\"" }
        #expect(shell.sends.map(\.guarding) == [.ifMatch(Validator(strong: "\"\(dates.count)\"")!)])
        try shell.answer(412)
        _ = look(id, first: 20, limit: 1) { "\"\($0)\"" }
        #expect(shell.sends.map(\.guarding) == [.ifMatch(Validator(strong: "\"20\"")!)])
        try shell.answer(412)
        _ = look(id, first: 30, limit: 1) { "\"\($0)\"" }
        #expect(shell.sends.map(\.guarding) == [.unguarded])
    }

    @Test("A version that settles at last ends the pauses, and begins the count anew")
    func settled() throws {
        let id = shell.accept(try .put("a=2", on: "a=1", etag: nil))
        #expect(look(id, limit: 6) { _ in "\"1\"" }.count == 6)
        shell.sleep()
        shell.read(200, "a=1", etag: "\"1\"")
        #expect(shell.sends.map(\.guarding) == [.ifMatch(Validator(strong: "\"1\"")!)])
        try shell.answer(412)
        let count = look(id) { _ in "\"1\"" }.count
        #expect(count == Soundness.lookLimit)
    }

    @Test("A change expires although its version never settles", arguments: [false, true])
    func expiry(_ isSent: Bool) throws {
        let end = shell.now + .seconds(60)
        let draft = try ChangeDraft.put("a=2&n=0", on: "a=1&n=0", etag: isSent ? "\"1\"" : nil)
        let id = shell.accept(draft.with { $0.expires = end })
        if isSent { shell.loseAnswer() }
        let dates = look(id) { _ in nil }
        #expect(shell.state(id) == .expired && shell.sends.isEmpty && shell.dropped == [id])
        #expect(shell.rows[id]!.mayBeApplied == isSent && dates.count < Soundness.lookLimit)
        #expect(shell.now >= end)
    }

    @Test("A blind change does not wait for a version that settles")
    func blind() throws {
        let id = shell.accept(try .put("a=2", on: "a=1").with { $0.base = .blind })
        shell.loseAnswer()
        shell.sleep()
        shell.read(200, "a=1&n=1", etag: nil, modified: shell.now)
        #expect(shell.sends.map(\.guarding) == [.unguarded] && shell.state(id) == .sending)
    }
}
