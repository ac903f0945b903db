import LarderClient

/// Polls the running downloads at most four times a second, until the task is cancelled.
enum ProgressPoll {
    private static let interval: Duration = .milliseconds(250)

    /// Passes an empty list when the server does not return the downloads, as for a token without the right to read.
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
