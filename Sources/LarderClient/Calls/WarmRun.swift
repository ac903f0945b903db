import Primitives

/// Lets a server download and keep the URLs of a list, in batches of `POST /downloads`. To continue an interrupted run,
/// run the same list again: the server does not contact origins for entries that are fresh.
///
/// Invariant: every item is in one batch. `onEnd` is called once for each item, or at most once if ``run()`` throws.
package final class WarmRun: Sendable {
    package struct End: Sendable {
        package let item: WarmList.Item
        package let result: Result<DownloadedEntry, ServerProblem>
        /// The server's answer for the item, with the item's URL in place of the item's index in the batch.
        package let json: JSON
    }

    /// The number of concurrent batches. The second batch keeps the server busy while the first batch ends.
    private static let lanes = 2
    private static let batchSize = 500
    /// The server's limit for the body of a batch, in bytes.
    private static let batchBytes = 8 << 20
    /// The attempts to send a batch to an overloaded server.
    private static let maximumTries = 10

    private let client: APIClient
    private let items: [WarmList.Item]
    private let options: DownloadOptions
    private let onEnd: @Sendable (End) async -> Void
    private let next = Locked(0)

    /// A ttl in the list overrides the ttl of the options. The next result of a batch is read after `onEnd` returns.
    package init(
        _ items: [WarmList.Item], options: DownloadOptions, client: APIClient,
        onEnd: @escaping @Sendable (End) async -> Void
    ) {
        self.items = items
        self.options = options
        self.client = client
        self.onEnd = onEnd
    }

    /// Runs to the end. When the task is cancelled, no more downloads begin. Throws ``ClientError`` when the connection
    /// breaks or the server refuses a whole batch. The downloads that ended earlier have been reported.
    package func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.lanes {
                group.addTask { [self] in
                    while let (indices, body) = takeBatch() { try await send(indices, body) }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Takes the next lines of the list, as many as a server accepts in a batch; `nil` at the end of the list.
    private func takeBatch() -> (indices: Range<Int>, body: [UInt8])? {
        next.withLock { next in
            let first = next
            var body: [UInt8] = []
            for item in items[first...].prefix(Self.batchSize) {
                let request = options.json(url: item.url, ttl: item.ttl).utf8
                // A line that is too long by itself is sent all the same, so that the server reports it.
                guard body.isEmpty || body.count + request.count < Self.batchBytes else { break }
                body += request
                body.append(UInt8(ascii: "\n"))
                next += 1
            }
            return body.isEmpty ? nil : (first..<next, body)
        }
    }

    private func send(_ indices: Range<Int>, _ body: [UInt8]) async throws {
        let call = APICall(.post, ["downloads"], body: .bytes(body, type: "application/x-ndjson"))
        var tries = 1
        while true {
            do {
                return try await client.withResponse(to: call) { response in
                    try await response.checkStatus()
                    try await receive(response, indices)
                }
            } catch ClientError.refused(let problem) where Self.isWorthRetrying(problem, afterTries: tries) {
                tries += 1
                try await Task.sleep(for: problem.retryAfter ?? .seconds(1))
            }
        }
    }

    /// Whether the server may accept the batch later. A refused batch has started no download.
    private static func isWorthRetrying(_ problem: ServerProblem, afterTries tries: Int) -> Bool {
        // A 429 says when the token's rate allows the batch, so these retries end and need no limit.
        problem.status == 429 || (problem.status == 503 && tries < maximumTries)
    }

    private func receive(_ response: APIResponse, _ batch: Range<Int>) async throws {
        var splitter = LineSplitter()
        var open = Set(batch)
        while let piece = try await response.nextPiece() {
            for line in splitter.append(piece) {
                let (index, end) = try readEnd(from: line, in: batch)
                guard open.remove(index) != nil else { throw ClientError.unexpected("a line is repeated") }
                await onEnd(end)
            }
            try response.check(pendingBytes: splitter.pendingBytes)
        }
        guard open.isEmpty else { throw ClientError.broken("\(open.count) downloads have no outcome") }
    }

    private func readEnd(from line: [UInt8], in batch: Range<Int>) throws -> (Int, End) {
        guard let answer = try? JSON(parsing: line), case .object(let members) = answer,
            let number = answer["index"]?.countValue, number < batch.count
        else { throw ClientError.unexpected("a line of the batch has no index") }
        let index = batch.lowerBound + Int(number)
        let item = items[index]
        let json = JSON.object([JSON.Member("url", .string(item.url))] + members.filter { $0.name != "index" })
        let problem = json["error"].flatMap { ServerProblem($0) }
        let result: Result<DownloadedEntry, ServerProblem> =
            try problem.map { .failure($0) } ?? .success(try DownloadedEntry(json))
        return (index, End(item: item, result: result, json: json))
    }
}

package struct WarmTally: Hashable, Sendable {
    /// The number of URLs, including lines that cannot be read.
    package let total: Int
    package private(set) var outcomes: [Outcome: Int] = [:]
    package private(set) var failed: Int
    /// The bytes of the bodies that came from origins.
    package private(set) var bytes: Int64 = 0

    /// Starts with the number of lines that failed before any request.
    package init(total: Int, failed: Int = 0) {
        self.total = total
        self.failed = failed
    }

    package var ended: Int { outcomes.values.reduce(failed, +) }
    /// The number of ended URLs that were no hits: with another outcome than `cached`, or failed.
    package var asked: Int { ended - (outcomes[.cached] ?? 0) }

    package mutating func add(_ end: WarmRun.End) {
        switch end.result {
        case .success(let kept):
            outcomes[kept.outcome, default: 0] += 1
            guard kept.outcome == .downloaded || kept.outcome == .joined else { return }
            bytes = bytes.addingClamped(kept.entry.contentLength)
        case .failure: failed += 1
        }
    }
}

/// Splits pieces of a stream into lines that end in LF.
struct LineSplitter {
    private var rest: [UInt8] = []

    /// The number of bytes kept of an incomplete line.
    var pendingBytes: Int { rest.count }

    /// Returns the lines that the piece completes. Empty lines are left out.
    mutating func append(_ piece: [UInt8]) -> [[UInt8]] {
        guard let end = piece.lastIndex(of: UInt8(ascii: "\n")) else {
            rest += piece
            return []
        }
        let whole = rest + piece[..<end]
        rest = Array(piece[(end + 1)...])
        return whole.split(separator: UInt8(ascii: "\n")).map(Array.init)
    }
}

/// A list of URLs to download and keep. Each line has a URL and, optionally, a space and the time for which the entry
/// stays fresh: `https://shop.example/logo.png 1h`. Empty lines are skipped. A `#` at the beginning of a word begins a
/// comment, up to the end of the line.
package struct WarmList: Sendable {
    package struct Item: Hashable, Sendable {
        /// The number of the line, from 1.
        package let line: Int
        /// The URL as the line states it.
        package let url: String
        package let ttl: Seconds?
    }

    package struct Mistake: Hashable, Sendable {
        package let line: Int
        package let reason: String
    }

    package private(set) var items: [Item] = []
    package private(set) var mistakes: [Mistake] = []

    /// Reads a list in UTF-8. A line ends in LF or CRLF.
    package init(_ bytes: some Collection<UInt8>) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() { add(Array(line), number: index + 1) }
    }

    private mutating func add(_ line: [UInt8], number: Int) {
        let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") }
            .prefix { $0.first != UInt8(ascii: "#") }
        guard let first = words.first else { return }
        func mistake(_ reason: String) { mistakes.append(Mistake(line: number, reason: reason)) }
        guard let url = String(validating: first, as: UTF8.self) else { return mistake("the line is not UTF-8") }
        guard first.count <= CanonicalURL.maximumLength else {
            return mistake("the URL is longer than \(CanonicalURL.maximumLength) bytes")
        }
        guard words.count <= 2 else { return mistake("the line has more than a URL and a duration") }
        var ttl: Seconds?
        if words.count == 2 {
            let text = String(decoding: words[1], as: UTF8.self)
            ttl = Seconds(text)
            guard ttl != nil else {
                return mistake(
                    "\"\(text)\" is not a duration; expected a number of seconds, or a number with a unit, such as "
                        + "\(DurationText.examples)")
            }
        }
        items.append(Item(line: number, url: url, ttl: ttl))
    }
}
