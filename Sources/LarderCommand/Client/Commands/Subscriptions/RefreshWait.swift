import LarderClient

extension APIClient {
    /// Waits for the end of a refresh, with its progress on a terminal, and prints the subscription. Throws
    /// ``ExitStatus/partial`` if resources are missing, and ``CommandFailure`` if the refresh failed.
    func showRefresh(of name: String, _ options: ClientOptions) async throws {
        var display = WaitDisplay(options)
        defer { display.clear() }
        let end = try await refreshEnd(of: name) { subscription in
            display.draw { subscription.progress(width: $0) }
        }
        display.clear()
        try options.print(end.json, or: end.report(now: .now))
        if let failure = end.failure { throw CommandFailure(.failed, failure) }
        guard end.state == "incomplete" else { return }
        if !options.json {
            for line in end.shortcomings { try Console.error.print(line) }
        }
        throw ExitStatus.partial.code
    }
}

extension HeldSubscription {
    /// A line about a running refresh.
    func progress(width: Int) -> String {
        let title = LogText.words(name).shortened(to: max(12, width / 3))
        guard wanted > 0 else { return ProgressLine(title: title, details: [state]).text(width: width) }
        var details = ["\(held) of \(wanted)"]
        if missingCount > 0 { details.append("\(missingCount) missing") }
        return ProgressLine(title: title, fraction: Double(held) / Double(wanted), details: details).text(width: width)
    }
}
