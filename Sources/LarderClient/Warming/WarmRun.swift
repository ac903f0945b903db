import Primitives

/// Has a server keep the URLs of a list, by batches of `POST /downloads`: how many of them are under way at once is the
/// server's limit. What is fresh is not asked of its origin again, so a run that was broken off is begun anew with the
/// same list, and nothing is kept of it here.
///
/// Invariant: `next` is locked; every item is in the batch of one lane, and its end is told once, or never when the run
/// does not come to its end.
public final class WarmRun: Sendable {
    /// What was kept.
    public struct Kept: Sendable {
        /// How it came to be there.
        public let outcome: Outcome
        /// It.
        public let entry: HeldEntry
    }

    /// What became of one line.
    public struct End: Sendable {
        /// The line.
        public let item: WarmList.Item
        /// The entry, or why there is none.
        public let result: Result<Kept, ServerProblem>
        /// The server's line about it, with the URL of the list instead of its number in the batch.
        public let json: JSON
    }

    /// How many batches are under way: while the last downloads of one end, those of the other go on.
    private static let lanes = 2
    /// The most lines of a batch.
    private static let batchSize = 500
    /// The longest body of a batch that a server takes, in bytes.
    private static let batchBytes = 8 << 20
    /// How often a batch is sent when the server has too much to do.
    private static let maximumTries = 10

    /// Some of the lines, and the request for them.
    private struct Batch {
        let indices: Range<Int>
        let body: [UInt8]
    }

    private let client: APIClient
    private let items: [WarmList.Item]
    private let options: DownloadOptions
    private let onEnd: @Sendable (End) async -> Void
    private let next = Locked(0)

    /// A run that is not begun.
    ///
    /// - Parameters:
    ///   - options: of every request; a line's own ttl goes before theirs.
    ///   - onEnd: told of each line as it ends; the next ones wait until it returns, but for those of another batch.
    public init(
        _ items: [WarmList.Item], options: DownloadOptions, client: APIClient,
        onEnd: @escaping @Sendable (End) async -> Void
    ) {
        self.items = items
        self.options = options
        self.client = client
        self.onEnd = onEnd
    }

    /// Runs to the end. When its task is cancelled, no more downloads are begun. Throws ``ClientError`` when the server
    /// goes away or refuses a batch as a whole; what had ended by then was told.
    public func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.lanes {
                group.addTask { [self] in
                    while let batch = takeBatch() { try await send(batch) }
                }
            }
            try await group.waitForAll()
        }
    }

    /// The next lines, as many as a server takes at once; `nil` when there are no more.
    private func takeBatch() -> Batch? {
        next.withLock { next in
            let first = next
            var body: [UInt8] = []
            for item in items[first...].prefix(Self.batchSize) {
                let request = options.json(url: item.url, ttl: item.ttl).utf8
                // One that is too long by itself is sent: the server says so.
                guard body.isEmpty || body.count + request.count < Self.batchBytes else { break }
                body += request
                body.append(UInt8(ascii: "\n"))
                next += 1
            }
            return body.isEmpty ? nil : Batch(indices: first..<next, body: body)
        }
    }

    private func send(_ batch: Batch) async throws {
        let call = APICall(.post, ["downloads"], body: .bytes(batch.body, type: "application/x-ndjson"))
        var tries = 1
        while true {
            do {
                return try await client.withResponse(to: call) { response in
                    try await response.checkStatus()
                    try await receive(response, batch.indices)
                }
            } catch ClientError.refused(let problem) where Self.isWorthRetrying(problem, afterTries: tries) {
                tries += 1
                try await Task.sleep(for: problem.retryAfter ?? .seconds(1))
            }
        }
    }

    /// Whether the batch as a whole may be taken later. One that was refused has begun nothing.
    private static func isWorthRetrying(_ problem: ServerProblem, afterTries tries: Int) -> Bool {
        // A token's rate says when there is room again, so waiting for that ends.
        problem.status == 429 || (problem.status == 503 && tries < maximumTries)
    }

    private func receive(_ response: APIResponse, _ batch: Range<Int>) async throws {
        var splitter = LineSplitter()
        var open = Set(batch)
        while let piece = try await response.nextPiece() {
            for line in splitter.append(piece) {
                let (index, end) = try readEnd(from: line, in: batch)
                guard open.remove(index) != nil else { throw ClientError.unexpected("it has a line twice") }
                await onEnd(end)
            }
            try response.check(pendingBytes: splitter.pendingBytes)
        }
        guard open.isEmpty else { throw ClientError.broken("\(open.count) downloads have no end") }
    }

    private func readEnd(from line: [UInt8], in batch: Range<Int>) throws -> (Int, End) {
        guard let answer = try? JSON(parsing: line), case .object(let members) = answer,
            let number = answer["index"]?.countValue, number < batch.count
        else { throw ClientError.unexpected("a line of the batch has no index") }
        let index = batch.lowerBound + Int(number)
        let item = items[index]
        let json = JSON.object([JSON.Member("url", .string(item.url))] + members.filter { $0.name != "index" })
        let result: Result<Kept, ServerProblem>
        if let problem = json["error"].flatMap({ ServerProblem($0) }) {
            result = .failure(problem)
        } else if let outcome = json["outcome"]?.stringValue.flatMap(Outcome.init(rawValue:)) {
            result = .success(Kept(outcome: outcome, entry: try HeldEntry(json["entry"])))
        } else {
            throw ClientError.unexpected("a line of the batch has no outcome")
        }
        return (index, End(item: item, result: result, json: json))
    }
}
