import Logging
import Primitives

extension DownloadManager {
    /// Warns about a download that failed, with its URL and the cause. Neither a cancellation nor the end of the server
    /// is a failure. A request that starts no download, because it is refused at once, leaves no line.
    func warn(about fetch: DownloadFetch, _ error: DownloadError) {
        switch error {
        case .cancelled, .stopping: return
        default: break
        }
        var metadata: Logger.Metadata = [
            "url": .string(LoggedURL.text(of: fetch.policy.request.url.string)), "key": .string(fetch.policy.key.text),
            "reason": .string(error.description), "seconds": .seconds(fetch.policy.elapsed),
        ]
        switch error {
        case .originStatus(let status, _): metadata["originStatus"] = .number(status)
        case .transferFailed(let code, _), .timedOut(let code, _), .tooLarge(let code, _):
            if code != 0 { metadata["curlCode"] = .number(code) }
        default: break
        }
        logger.warning("download failed", metadata: metadata)
    }
}
