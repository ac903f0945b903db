import HTTPTypes
import Primitives
import TestSupport
import Testing

/// What `/fetch` does, one row an exchange: what the origin answers first, what passes, what is asked then, and what
/// must come of it. Every row has a URL of its own and begins on 2026-01-01T00:00:00Z; see ``at(_:)``.
///
///     row("9111 §5.2.2.1: max-age", ok("Cache-Control: max-age=60"), after: 59, is: .hit, .age(59))
enum ExchangeTable {
    /// The rows of one bullet of the standard.
    struct Part: Sendable, CustomTestStringConvertible {
        let name: String
        let rows: [Exchange]
        var testDescription: String { "\(name): \(rows.count) exchanges" }
    }

    static let parts: [Part] = [
        Part(name: "freshness", rows: freshness),
        Part(name: "age", rows: age),
        Part(name: "directives of answers", rows: answerDirectives),
        Part(name: "directives of requests", rows: requestDirectives),
        Part(name: "targeted fields", rows: targeted),
        Part(name: "statuses and heuristics", rows: statuses),
        Part(name: "Vary", rows: vary),
        Part(name: "validation", rows: validation),
        Part(name: "conditions", rows: conditions),
        Part(name: "ranges and parts", rows: ranges),
        Part(name: "methods and invalidation", rows: methods),
        Part(name: "cache groups", rows: groups),
        Part(name: "stale answers", rows: stale),
        Part(name: "Authorization", rows: authorization),
        Part(name: "a caller's ttl", rows: callers),
        Part(name: "what is told", rows: telling),
        Part(name: "fields of one hop", rows: hops),
    ]
}

/// One row of the table.
struct Exchange: Sendable {
    /// What is asked.
    struct Ask: Sendable {
        var method = "GET"
        var lines: [String] = []
        var body = ""
        /// What is put behind the row's URL.
        var suffix = ""
    }

    /// What the origin answers.
    struct Answer: Sendable {
        var status = 200
        /// `{path}` in them is the path of the row's URL, `{url}` all of it.
        var lines: [String] = []
        /// `nil`: `body 1`, `body 2` … by the number of the request.
        var body: String?
        /// No answer: the connection is closed.
        var isLost = false
    }

    /// Something that is asked between the first request and the one that counts.
    struct Step: Sendable {
        var seconds: Int
        var ask: Ask
        var answer: Answer
    }

    /// How the last request ends.
    enum Outcome: Sendable {
        /// The stored answer, fresh, without a word to the origin.
        case hit
        /// The stored answer, stale, without a word to the origin.
        case stale
        /// The stored answer, stale; the origin is asked behind the client's back.
        case staleWhileRevalidated
        /// The stored answer, stale, because the origin failed.
        case staleAfterError
        /// The stored answer, after the origin said 304.
        case revalidated
        /// A new answer to a conditional request.
        case replaced
        /// A new answer to a request without conditions of Larder's own.
        case forwarded
        /// 304 by the cache itself.
        case notModified
        /// 206 by the cache itself, with this body.
        case partial(String)
        /// 412 by the cache itself.
        case preconditionFailed
        /// 416 by the cache itself.
        case unsatisfiable
        /// 504 by the cache itself, because of `only-if-cached`.
        case refused
        /// An error of Larder's own, because the origin failed.
        case failed(Int)
    }

    /// What else must be so.
    enum Check: Sendable {
        /// The answer's Age.
        case age(Int)
        /// The answer's status.
        case status(Int)
        /// The answer's body.
        case body(String)
        /// The answer's body has this in it.
        case has(String)
        /// All lines of a field of the answer.
        case field(String, [String])
        /// The answer does not have the field.
        case lacks(String)
        /// Larder's member of Cache-Status has this in it.
        case tells(String)
        /// Larder's member of Cache-Status does not have this in it.
        case tellsNo(String)
        /// The origin's last request had the field, with this value.
        case saw(String, String)
        /// The origin's last request did not have the field.
        case sawNo(String)
    }

    let name: String
    let first: Answer
    let asked: Ask
    let meanwhile: [Step]
    let seconds: Int
    let then: Ask
    let second: Answer
    let outcome: Outcome
    let checks: [Check]
    let sourceLocation: SourceLocation
}

// MARK: - What rows are made of

extension ExchangeTable {
    /// One row.
    ///
    /// - Parameters:
    ///   - name: the section of the RFC, and what it says.
    ///   - first: what the origin answers to the first request.
    ///   - asked: the first request.
    ///   - meanwhile: what is asked in between.
    ///   - seconds: how much time passes then.
    ///   - then: the request that counts.
    ///   - second: what the origin would answer to it; `nil`: as before, with another body.
    static func row(
        _ name: String, _ first: Exchange.Answer, asked: Exchange.Ask = get(),
        meanwhile: Exchange.Step...,
        after seconds: Int = 1, then: Exchange.Ask = get(), now second: Exchange.Answer? = nil,
        is outcome: Exchange.Outcome, _ checks: Exchange.Check...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> Exchange {
        Exchange(
            name: name, first: first, asked: asked, meanwhile: meanwhile, seconds: seconds, then: then,
            second: second ?? first, outcome: outcome, checks: checks, sourceLocation: sourceLocation)
    }

    static func get(_ lines: String..., at suffix: String = "") -> Exchange.Ask {
        Exchange.Ask(lines: lines, suffix: suffix)
    }

    static func head(_ lines: String...) -> Exchange.Ask {
        Exchange.Ask(method: "HEAD", lines: lines)
    }

    static func ask(_ method: String, _ lines: String..., body: String = "", at suffix: String = "")
        -> Exchange.Ask
    {
        Exchange.Ask(method: method, lines: lines, body: body, suffix: suffix)
    }

    static func ok(_ lines: String..., body: String? = nil) -> Exchange.Answer {
        Exchange.Answer(lines: lines, body: body)
    }

    static func answer(_ status: Int, _ lines: String..., body: String? = nil) -> Exchange.Answer {
        Exchange.Answer(status: status, lines: lines, body: body)
    }

    static func notModified(_ lines: String...) -> Exchange.Answer {
        Exchange.Answer(status: 304, lines: lines, body: "")
    }

    /// The origin cannot be reached.
    static let nothing = Exchange.Answer(isLost: true)

    static func step(
        after seconds: Int = 0, _ ask: Exchange.Ask, gets answer: Exchange.Answer
    ) -> Exchange.Step {
        Exchange.Step(seconds: seconds, ask: ask, answer: answer)
    }

    /// The date that many seconds after the row's beginning.
    static func at(_ seconds: Int64) -> String {
        (start + .seconds(seconds)).httpDate
    }

    static let start = Timestamp(seconds: 1_767_225_600)
    /// A strong validator.
    static let v1 = #"ETag: "v1""#
    static let hour = "Cache-Control: max-age=3600"
    static let minute = "Cache-Control: max-age=60"
}
