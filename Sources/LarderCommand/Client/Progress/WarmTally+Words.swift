import LarderClient
import Primitives

extension WarmTally {
    /// `12 downloaded, 3 already fresh, 1 failed`; empty when no URL has ended.
    var counts: String {
        var words = Outcome.allCases.compactMap { outcome in
            outcomes[outcome].map { "\($0) \(outcome == .cached ? "already fresh" : outcome.rawValue)" }
        }
        if failed > 0 { words.append("\(failed) failed") }
        return words.joined(separator: ", ")
    }

    /// `4 URLs: 3 downloaded, 1 failed; 12.0 MiB in 3 s`.
    func summary(elapsed: Duration) -> String {
        var words = counts
        if ended < total { words += (words.isEmpty ? "" : ", ") + "\(total - ended) not done" }
        let subject = total == 1 ? "1 URL" : "\(total) URLs"
        return subject + (words.isEmpty ? "" : ": " + words) + "; \(Words.bytes(bytes)) in \(Words.duration(elapsed))"
    }

    /// `{"summary": {…}}`.
    func summaryJSON(elapsed: Duration) -> JSON {
        var members: [JSON.Member] = [.init("total", .number(total))]
        for outcome in Outcome.allCases { members.append(.init(outcome.rawValue, .number(outcomes[outcome] ?? 0))) }
        members.append(.init("failed", .number(failed)))
        members.append(.init("unfinished", .number(total - ended)))
        members.append(.init("bytes", .number(bytes)))
        members.append(.init("seconds", .seconds(elapsed)))
        return ["summary": .object(members)]
    }
}
