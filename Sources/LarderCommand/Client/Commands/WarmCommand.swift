import ArgumentParser
import LarderClient
import Primitives

struct WarmCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "warm", abstract: "Download and store the URLs of a list.",
        discussion: """
            One URL on each line, optionally followed by a space and its TTL. Empty lines, and text after a # at the \
            beginning of a word, are ignored. URLs with a fresh entry are not downloaded, so an interrupted run can be \
            repeated. The server limits simultaneous downloads (--max-downloads). On a terminal, shows its progress; \
            Ctrl-C ends the run and prints the results so far.
            """)

    @Argument(help: "File with the list; - is standard input.", completion: .file())
    var file = "-"
    @OptionGroup var request: RequestOptions
    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { client in
            let list = WarmList(try InputFile(file).read())
            let session = WarmSession(list, options: request.options, client: client, printsJSON: options.json)
            try await session.run()
        }
    }
}

actor WarmSession {
    private let client: APIClient
    private let list: WarmList
    private let options: DownloadOptions
    private let printsJSON: Bool
    private let start = ContinuousClock.now
    /// The canonical URLs of the list, to recognise its downloads among all running downloads.
    private let urls: Set<String>
    private let isDrawing: Bool
    private var tally: WarmTally
    private var display = ProgressDisplay(.error)
    private var outputFailure: CommandFailure?

    init(_ list: WarmList, options: DownloadOptions, client: APIClient, printsJSON: Bool) {
        self.list = list
        self.options = options
        self.client = client
        self.printsJSON = printsJSON
        tally = WarmTally(total: list.items.count + list.mistakes.count, failed: list.mistakes.count)
        let isDrawing = Console.error.canRedraw && !printsJSON
        self.isDrawing = isDrawing
        urls = isDrawing ? Set(list.items.compactMap { try? CanonicalURL($0.url).string }) : []
    }

    /// Prints the summary at the end or at SIGINT, then throws the error or exit status, unless all URLs succeeded.
    func run() async throws {
        for mistake in list.mistakes { say(of: "line \(mistake.line)", mistake.reason) }
        var failure: (any Error)?
        do {
            try await Interrupt.cancels { try await self.warm() }
        } catch {
            failure = error
        }
        display.clear()
        let elapsed = ContinuousClock.now - start
        if printsJSON {
            try Console.output.print(json: tally.summaryJSON(elapsed: elapsed))
        } else {
            try Console.output.print(tally.summary(elapsed: elapsed))
        }
        if let failure = (outputFailure as (any Error)?) ?? failure { throw failure }
        if tally.failed > 0 { throw ExitStatus.failed.code }
    }

    private func warm() async throws {
        let run = WarmRun(list.items, options: options, client: client) { [self] end in await note(end) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            if isDrawing {
                group.addTask { [self] in await ProgressPoll.run(client) { await self.draw($0) } }
            }
            defer { group.cancelAll() }
            try await run.run()
        }
    }

    private func note(_ end: WarmRun.End) {
        tally.add(end)
        if printsJSON {
            do {
                try Console.output.print(json: end.json)
            } catch {
                outputFailure = outputFailure ?? error
            }
        } else if case .failure(let problem) = end.result {
            say(of: end.item.url, problem.detail)
        }
    }

    private func draw(_ running: [RunningDownload]) {
        let progress = WarmProgress(
            tally: tally, elapsed: ContinuousClock.now - start, running: running.filter { urls.contains($0.url) })
        display.draw { progress.lines(width: $0) }
    }

    private func say(of subject: String, _ words: String) {
        guard !printsJSON else {
            let line: JSON = ["subject": .string(subject), "detail": .string(words)]
            try? Console.error.print(json: line)
            return
        }
        display.say("\(LogText.words(subject)): \(LogText.words(words))")
    }
}

struct WarmProgress {
    var tally: WarmTally
    var elapsed: Duration
    var running: [RunningDownload]

    /// A line about the whole run, and a line about the largest running download.
    func lines(width: Int) -> [String] {
        var lines = [whole.text(width: width)]
        if let largest = running.max(by: { $0.size < $1.size }) { lines.append(largest.progress(width: width)) }
        return lines
    }

    private var whole: ProgressLine {
        let fraction = tally.total == 0 ? 1 : Double(tally.ended) / Double(tally.total)
        let bytes = running.reduce(tally.bytes) { $0.addingClamped($1.receivedBytes) }
        var details = [tally.counts]
        if let left { details.append("\(Words.duration(left)) left") }
        if elapsed > .zero { details.append("\(Words.bytes(Double(bytes) / elapsed.inSeconds))/s") }
        return ProgressLine(
            title: "\(tally.ended)/\(tally.total)  \(Words.percent(fraction))", fraction: fraction,
            details: details.filter { !$0.isEmpty })
    }

    /// The time left, if every remaining URL is no hit and takes the average time; `nil` while all ended URLs are hits.
    private var left: Duration? {
        guard tally.asked > 0, tally.ended < tally.total else { return nil }
        return .seconds(elapsed.inSeconds * Double(tally.total - tally.ended) / Double(tally.asked))
    }
}

extension RunningDownload {
    /// The largest known size of the download, in bytes.
    fileprivate var size: Int64 { max(totalBytes ?? 0, receivedBytes) }

    func progress(width: Int) -> String {
        let fraction = totalBytes.map { $0 == 0 ? 1 : Double(receivedBytes) / Double($0) }
        var amount = Words.bytes(receivedBytes)
        if let totalBytes, let fraction { amount = "\(Words.percent(fraction)) of \(Words.bytes(totalBytes))" }
        let title = LogText.words(url).shortened(to: max(12, width / 3))
        return ProgressLine(
            title: title, fraction: fraction, details: [amount, "\(Words.bytes(bytesPerSecond))/s"]
        ).text(width: width)
    }
}

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

    func summaryJSON(elapsed: Duration) -> JSON {
        let counts =
            [("total", total)] + Outcome.allCases.map { ($0.rawValue, outcomes[$0] ?? 0) }
            + [("failed", failed), ("unfinished", total - ended)]
        var members = counts.map { JSON.Member($0, .number($1)) }
        members += [.init("bytes", .number(bytes)), .init("seconds", .seconds(elapsed))]
        return ["summary": .object(members)]
    }
}
