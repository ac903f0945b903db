import Foundation
import LarderClient

extension OutboxChange {
    /// The cells for a program, which always include the id.
    func cells(now: Date) -> [Cell] {
        [Cell(String(id)), Cell(state), Cell(method)] + facts(now: now) + [Cell(url), Cell(lane ?? "")]
    }

    static let shownTitles = ["URL", "ID", "METHOD", "STATE", "ATTEMPTS", "CREATED", "NEXT", "PROBLEM"]

    /// The cells for a person at a terminal.
    func shownCells(now: Date) -> [Cell] {
        [Cell(url), Cell(String(id)), Cell(method), Cell(state)] + facts(now: now)
    }

    private func facts(now: Date) -> [Cell] {
        [
            Cell(String(attempts)), Cell(instantOrNone: createdDate, now: now),
            Cell(instantOrNone: nextAttemptDate, now: now), Cell(problem ?? ""),
        ]
    }

    func report(now: Date) -> Report {
        var report = Report()
        func add(_ name: String, _ value: String?) {
            if let value { report.add(name, value) }
        }
        func add(_ name: String, date: String?) {
            if let date { report.add(name, Cell(instant: date, now: now)) }
        }
        add("id", String(id))
        add("url", url)
        add("method", method)
        add("lane", lane)
        add("state", state)
        if let problem { report.add("problem", Cell(plain: problem, words: problemWords ?? problem)) }
        add("answer", problemStatus.map { "status \($0)" })
        add("attempts", String(attempts))
        add("created", date: createdDate)
        add("next", date: nextAttemptDate)
        add("expires", date: expiryDate)
        add("credential", credential)
        add("on conflict", onConflict)
        if mayBeApplied, !isConfirmed { add("applied", "perhaps") }
        if isUnguarded { add("guarded", "no") }
        return report
    }

    /// The reason why the change waits, has stopped, or has ended without an effect; `nil` without a problem.
    var problemWords: String? {
        switch problem {
        case "unreachable": "the origin cannot be reached"
        case "throttled": "the origin asks for a pause"
        case "unknownOutcome": "the outcome of a request is unknown"
        case "clash": "the origin has a newer version, and both edits clash"
        case "deleted": "the resource is gone"
        case "validatorRefused": "the origin refuses the precondition, although its version has not changed"
        case "stateRefused": "the origin refuses the request because of the state of the resource"
        case "credential": "the origin refuses the credential"
        case "originPolicy": "the server may not contact the origin"
        case "rejected": "the origin refuses the request"
        case "redirected": "the origin redirects the request to another place"
        case "unreadable": "the origin does not show its version"
        case "unsettled": "the resource changes so often that its version cannot be named"
        case "theirsTaken": "the version of the origin was taken"
        case "squashed": "a later change contains this change"
        default: problem
        }
    }

    /// The commands that end the stop of the change; `nil` if the change has not stopped.
    var advice: String? {
        switch state {
        case "conflict":
            "\"larder outbox resolve \(id)\" decides; \"larder outbox show \(id)\" shows both sides"
        case "uncertain":
            "\"larder outbox retry \(id)\" may repeat the effect; \"larder outbox cancel \(id)\" gives the change up"
        case "blocked": "store a valid credential with \"larder credential put\"; the change is then sent again"
        case "rejected": "\"larder outbox retry \(id)\" sends it again; \"larder outbox cancel \(id)\" gives it up"
        default: nil
        }
    }

    /// The reason for which the wait for the origin ended without an effect; `nil` for a confirmed change.
    var failure: String? {
        guard !isConfirmed, !isUnderWay else { return nil }
        let words = "change \(id) is in the state \(state)" + (problemWords.map { ": \($0)" } ?? "")
        return words + (advice.map { "; \($0)" } ?? "")
    }
}

extension Cell {
    /// An instant in the API's form (RFC 3339); empty for `nil`.
    init(instantOrNone instant: String?, now: Date) {
        self = instant.map { Cell(instant: $0, now: now) } ?? Cell("")
    }
}
