import Primitives

/// A download that runs, or waits for its turn.
package struct RunningDownload: Hashable, Sendable {
    /// Canonical.
    package let url: String
    package let receivedBytes: Int64
    /// In bytes; `nil` when the origin did not state it.
    package let totalBytes: Int64?
    /// The average since the start.
    package let bytesPerSecond: Double

    package init(url: String, receivedBytes: Int64, totalBytes: Int64?, bytesPerSecond: Double) {
        self.url = url
        self.receivedBytes = receivedBytes
        self.totalBytes = totalBytes
        self.bytesPerSecond = bytesPerSecond
    }

    /// `nil` for a download that has ended.
    init?(_ json: JSON) {
        guard json["state"] == "running", let url = json["url"]?.stringValue,
            let received = json["receivedBytes"]?.countValue
        else { return nil }
        self.init(
            url: url, receivedBytes: received, totalBytes: json["totalBytes"]?.countValue,
            bytesPerSecond: json["bytesPerSecond"]?.doubleValue ?? 0)
    }
}

extension APIClient {
    /// The latest start first, at most a thousand.
    package func runningDownloads() async throws -> [RunningDownload] {
        let json = try await send(APICall(["downloads"], query: [("limit", "1000")])).json()
        return (json["downloads"]?.arrayValue ?? []).compactMap { RunningDownload($0) }
    }
}
