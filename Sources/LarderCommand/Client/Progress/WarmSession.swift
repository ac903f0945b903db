import LarderClient
import Primitives

/// A run of `larder warm`, with its output during the run and at the end.
actor WarmSession {
    private let client: APIClient
    private let list: WarmList
    private let options: DownloadOptions
    private let printsJSON: Bool
    private let start = ContinuousClock.now
    /// Canonical, to recognise the list's running downloads.
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
