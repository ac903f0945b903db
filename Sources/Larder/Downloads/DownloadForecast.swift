import DiskCache
import Origin
import Primitives

/// The outcome that a request for a download would have now, if it were made with only its URL.
package struct DownloadForecast: Sendable {
    package enum Reason: String, Sendable, CaseIterable {
        /// The entry is fresh: a hit. The cache would answer without asking the origin.
        case fresh
        /// A download of the URL runs. The request would wait for it.
        case downloading
        /// The entry has expired. The origin would be asked, with the entry's validators if it has any.
        case stale
        /// There is no entry. The URL would be downloaded.
        case absent
        /// The scheme is not allowed; or the entry is not fresh, no download runs, and the origin may not be asked.
        case refused
    }

    package let key: CacheKey
    package let reason: Reason
    /// `nil` unless the request would be refused.
    package let refusal: DownloadError?
    /// The held entry of the URL, fresh or stale; `nil` without an entry.
    package let entry: Entry?
    /// `nil` when no download of the URL runs.
    package let download: DownloadStatus?
    /// The end of the pause for which the URL's host asked; `nil` without a pause. A request that has to ask the origin
    /// fails until then.
    package let pauseEnd: Timestamp?
    /// The path of the present or future body; `nil` when the body is, or may be, in the slab.
    package let localPath: String?
}

extension DownloadManager {
    /// Forecasts a request for a URL. Counts no hit and changes no state. Reads the entry's metadata, but not its body.
    /// Uses neither DNS nor the network.
    package func forecast(of url: CanonicalURL) throws(DiskCacheError) -> DownloadForecast {
        let key = CacheKey.url(canonical: url.string)
        let entry = try tools.cache.entry(for: key.text, expectingURL: url.string)
        let last = status(of: key.text)
        let running = last?.state == .running && last?.url == url.string ? last : nil
        let reason: DownloadForecast.Reason
        var refusal: DownloadError?
        // Sets only the parts of a request that decide whether Larder may send it.
        var request = OriginRequest(url: url.requestURL)
        request.addressPolicy = tools.options.addressPolicy
        let now = tools.clock.now()
        if !schemes.contains(url.scheme) {
            (reason, refusal) = (.refused, .schemeRefused(url.scheme))
        } else if let entry, entry.isFresh(at: now) {
            reason = .fresh
        } else if running != nil {
            reason = .downloading
        } else if let error = tools.origin.foreseenRefusal(of: request) {
            (reason, refusal) = (.refused, DownloadError(error))
        } else {
            reason = entry == nil ? .absent : .stale
        }
        return DownloadForecast(
            key: key, reason: reason, refusal: refusal, entry: entry, download: running,
            pauseEnd: request.origin.flatMap { tools.pauses.end(of: $0, at: now) },
            localPath: entry == nil ? tools.cache.expectedPath(of: key, url: url.string) : entry?.localPath)
    }
}
