import HTTPTypes
import Primitives
import TestSupport
import Testing

/// The exchanges through `/fetch`. A row states the origin's first answer, the time that passes, the next request and
/// its expected outcome. Every row has a URL of its own and begins on 2026-01-01T00:00:00Z; see ``at(_:)``.
///
///     row(
///         "9111 §5.2.2.1: an answer is fresh below max-age", ok("Cache-Control: max-age=60"), after: 59, is: .hit,
///         .age(59))
enum ExchangeTable {
    /// The rows of a topic of the standard.
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

/// A row of the table; see ``ExchangeTable``.
struct Exchange: Sendable {
    /// A request of the client.
    struct Ask: Sendable {
        var method = "GET"
        var lines: [String] = []
        var body = ""
        /// The suffix of the URL, behind the row's URL and a `~`. Empty means the row's URL itself.
        var suffix = ""
    }

    /// An answer of the origin.
    struct Answer: Sendable {
        var status = 200
        /// The field lines. `{path}` in a line stands for the path of the row's URL, `{url}` for the whole URL.
        var lines: [String] = []
        /// The body. `nil` means `body 1`, `body 2` and so on, by the number of the request at the origin.
        var body: String?
        /// Whether the origin closes the connection instead of answering.
        var isLost = false
    }

    /// A request between the first and the last request, and the time that passes before it.
    struct Step: Sendable {
        var seconds: Int
        var ask: Ask
        var answer: Answer
    }

    /// The expected outcome of the last request.
    enum Outcome: Sendable {
        /// The stored answer, fresh, without a request to the origin.
        case hit
        /// The stored answer, stale, without a request to the origin.
        case stale
        /// The stored answer, stale. Larder revalidates it in the background.
        case staleWhileRevalidated
        /// The stored answer, stale, because the origin failed.
        case staleAfterError
        /// The stored answer, after the origin answered 304.
        case revalidated
        /// A new answer of the origin to a request to which Larder added a validator.
        case replaced
        /// A new answer of the origin to a request to which Larder added no validator.
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

    /// A further check of the last answer, or of the last request at the origin.
    enum Check: Sendable {
        /// The answer's Age.
        case age(Int)
        /// The answer's status.
        case status(Int)
        /// The answer's body.
        case body(String)
        /// A text that the answer's body contains.
        case has(String)
        /// The values of all lines of a field of the answer, in their order.
        case field(String, [String])
        /// A field that the answer does not have.
        case lacks(String)
        /// A text that Larder's member of Cache-Status contains.
        case tells(String)
        /// A text that Larder's member of Cache-Status does not contain.
        case tellsNo(String)
        /// A field of the last request at the origin, and its value.
        case saw(String, String)
        /// A field that the last request at the origin did not have.
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

// MARK: - The parts of a row

extension ExchangeTable {
    /// Makes a row.
    ///
    /// - Parameters:
    ///   - name: the section of the RFC, and its rule.
    ///   - first: the origin's answer to the first request.
    ///   - asked: the first request.
    ///   - meanwhile: the requests between the first and the last request.
    ///   - seconds: the time before the last request.
    ///   - then: the last request, for which the outcome and the checks hold.
    ///   - second: the origin's answer to the last request, if that request reaches the origin. `nil` means `first`
    ///     again. If `first` has no body, each answer has its own number as its body; see ``Exchange/Answer/body``.
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

    /// An origin that closes the connection without an answer.
    static let nothing = Exchange.Answer(isLost: true)

    static func step(
        after seconds: Int = 0, _ ask: Exchange.Ask, gets answer: Exchange.Answer
    ) -> Exchange.Step {
        Exchange.Step(seconds: seconds, ask: ask, answer: answer)
    }

    /// Returns the HTTP date `seconds` after the row's beginning.
    static func at(_ seconds: Int64) -> String {
        (start + .seconds(seconds)).httpDate
    }

    static let start = Timestamp(seconds: 1_767_225_600)
    /// A strong validator.
    static let v1 = #"ETag: "v1""#
    static let hour = "Cache-Control: max-age=3600"
    static let minute = "Cache-Control: max-age=60"
}
