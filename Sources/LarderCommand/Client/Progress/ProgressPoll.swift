import LarderClient

/// Looks at what runs a few times a second, until its task is cancelled.
enum ProgressPoll {
    private static let interval: Duration = .milliseconds(250)

    /// Gives `show` what runs in the client's namespace; nothing when that cannot be had, as with a token that is not
    /// for reading.
    static func run(_ client: APIClient, _ show: ([RunningDownload]) async -> Void) async {
        while true {
            do {
                try await Task.sleep(for: interval)
            } catch {
                return
            }
            let running = try? await client.runningDownloads()
            if !Task.isCancelled { await show(running ?? []) }
        }
    }
}
