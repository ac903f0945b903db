import HTTPTypes
import TestSupport

/// Compares an exchange with its row, and collects the differences as complaints.
struct ExchangeVerdict {
    let row: Exchange
    let reply: HTTPReply
    /// All requests that the origin received.
    let requests: [ScriptedOrigin.Request]
    /// The number of ``requests`` before the row's last request.
    let asked: Int
    private(set) var complaints: [String] = []

    init(row: Exchange, reply: HTTPReply, requests: [ScriptedOrigin.Request], asked: Int) {
        self.row = row
        self.reply = reply
        self.requests = requests
        self.asked = asked
        check(row.outcome)
        for check in row.checks { self.check(check) }
    }

    /// Whether the row has a check of the status, which then replaces the outcome's status.
    private var checksStatus: Bool {
        row.checks.contains { if case .status = $0 { true } else { false } }
    }

    private var checksBody: Bool {
        row.checks.contains { check in
            switch check {
            case .body, .has: true
            default: false
            }
        }
    }

    /// Larder's own member of Cache-Status, which is the last member.
    private var told: String {
        reply.fields[values: HTTPField.Name("Cache-Status")!].last ?? ""
    }

    private mutating func check(_ outcome: Exchange.Outcome) {
        let isRead = row.then.method != "HEAD"
        let stored = isRead ? row.first.body ?? "body 1" : ""
        let new = isRead ? row.second.body ?? "body \(asked + 1)" : ""
        switch outcome {
        case .hit:
            expect(requests: 0, status: row.first.status, body: stored, told: "larder; hit")
            if told.contains("ttl=-") { complain("a ttl that is not negative", told) }
        case .stale:
            expect(requests: 0, status: row.first.status, body: stored, told: "larder; hit; ttl=-")
        case .staleWhileRevalidated:
            expect(requests: 1, status: row.first.status, body: stored, told: "larder; hit; ttl=-")
        case .staleAfterError:
            expect(requests: nil, status: row.first.status, body: stored, told: "larder; fwd=stale")
            if !told.contains("detail=stale") { complain("detail=stale", told) }
        case .revalidated:
            expect(requests: 1, status: row.first.status, body: stored, told: "larder; fwd=")
            if !told.contains("fwd-status=304") { complain("fwd-status=304", told) }
            if !hasCondition { complain("a conditional request to the origin", "no condition") }
        case .replaced:
            expect(requests: 1, status: row.second.status, body: new, told: "larder; fwd=")
            if !hasCondition { complain("a conditional request to the origin", "no condition") }
        case .forwarded:
            expect(requests: 1, status: row.second.status, body: new, told: "larder; fwd=")
            if isConditional {
                complain("a request to the origin without a condition of Larder", "a condition")
            }
        case .notModified: expect(requests: 0, status: 304, body: "", told: "larder; hit")
        case .partial(let body): expect(requests: 0, status: 206, body: body, told: "larder; hit")
        case .preconditionFailed: expect(requests: 0, status: 412, body: "", told: "larder; hit")
        case .unsatisfiable: expect(requests: 0, status: 416, body: "", told: "larder; hit")
        case .refused: expect(requests: 0, status: 504, body: nil, told: "larder; detail=only-if-cached")
        case .failed(let status): expect(requests: nil, status: status, body: nil, told: "larder; fwd=")
        }
    }

    private var hasCondition: Bool {
        requests.last.map { $0.fields.contains(.ifNoneMatch) || $0.fields.contains(.ifModifiedSince) } ?? false
    }

    /// Whether the last request at the origin has a condition that the client did not send.
    private var isConditional: Bool {
        guard let last = requests.last else { return false }
        let own = HTTPFields(lines: row.then.lines)
        return [HTTPField.Name.ifNoneMatch, .ifModifiedSince].contains {
            last.fields.contains($0) && last.fields[$0] != own[$0]
        }
    }

    /// Compares the answer and the number of origin requests with the expected values.
    ///
    /// - Parameters:
    ///   - count: the number of requests that the origin received for the last request. `nil` means any number,
    ///     because the origin failed.
    ///   - body: the body of the answer. `nil` means any body, because Larder wrote an error text of its own.
    private mutating func expect(requests count: Int?, status: Int, body: String?, told: String) {
        if let count, requests.count - asked != count {
            complain("\(count) requests at the origin", "\(requests.count - asked)")
        }
        if !checksStatus, reply.status != status {
            complain("status \(status)", "\(reply.status)")
        }
        if let body, !checksBody, reply.text != body { complain("body \(body)", reply.text) }
        if !self.told.hasPrefix(told) { complain("Cache-Status \(told)", self.told) }
    }

    private mutating func check(_ check: Exchange.Check) {
        switch check {
        case .age(let seconds): expect("Age", "\(seconds)", reply["Age"])
        case .status(let status): expect("status", "\(status)", "\(reply.status)")
        case .body(let body): expect("body", body, reply.text)
        case .field(let name, let lines):
            expect(name, "\(lines)", "\(reply.fields[values: HTTPField.Name(name)!])")
        case .lacks(let name): expect(name, nil, reply[name])
        case .tells(let words):
            if !told.contains(words) { complain("Cache-Status has \(words)", told) }
        case .tellsNo(let words):
            if told.contains(words) { complain("Cache-Status does not have \(words)", told) }
        case .has(let text):
            if !reply.text.contains(text) { complain("a body with \(text)", reply.text) }
        case .saw(let name, let value): expect("\(name) at the origin", value, requests.last?[name])
        case .sawNo(let name): expect("\(name) at the origin", nil, requests.last?[name])
        }
    }

    private mutating func expect(_ what: String, _ expected: String?, _ actual: String?) {
        if expected != actual { complain("\(what): \(expected ?? "none")", actual ?? "none") }
    }

    private mutating func complain(_ expected: String, _ actual: String) {
        complaints.append("expected \(expected), but got \(actual)")
    }
}
