import DiskCache
import Origin
import Primitives

/// The outcome that a request for a download would have now, if it were made with only its URL.
package struct DownloadForecast: Sendable {
    /// The reason for the outcome.
    package enum Reason: String, Sendable, CaseIterable {
        /// The entry is fresh: a hit.
        case fresh
        /// A download of the URL runs. The request would wait for it.
        case downloading
        /// The entry has expired. The origin would be asked whether the body changed, or for the whole body when the
        /// entry has no validators.
        case stale
        /// There is no entry. The URL would be downloaded.
        case absent
        /// The cache would not answer, and the origin may not be asked. A request with a scheme that is not allowed
        /// would not ask the cache either.
        case refused
    }

    /// The key of the entry.
    package let key: CacheKey
    /// The reason for the outcome.
    package let reason: Reason
    /// The error of a request that would be refused; `nil` for any other reason.
    package let refusal: DownloadError?
    /// The entry, fresh or stale; `nil` when there is none.
    package let entry: Entry?
    /// The running download; `nil` when there is none.
    package let download: DownloadStatus?
    /// The path of the body, or of the future body when there is no entry; `nil` when the body is, or may be, in the
    /// slab.
    package let localPath: String?

    /// Whether the cache would answer without asking the origin.
    package var isHit: Bool { reason == .fresh }
}

extension DownloadManager {
    /// Forecasts a request for a URL. A forecast counts as no hit and changes no state. It looks at the entry's
    /// metadata but not at its body. It tells whether the origin may be asked only as far as the URL shows it, without
    /// DNS or the network.
    package func forecast(of url: CanonicalURL) throws(DiskCacheError) -> DownloadForecast {
        let key = CacheKey.url(canonical: url.string)
        let entry = try tools.cache.entry(for: key.text, expectingURL: url.string)
        let last = status(of: key.text)
        let running = last?.state == .running && last?.url == url.string ? last : nil
        let reason: DownloadForecast.Reason
        var refusal: DownloadError?
        if !schemes.contains(url.scheme) {
            (reason, refusal) = (.refused, .schemeRefused(url.scheme))
        } else if let entry, entry.isFresh(at: tools.clock.now()) {
            reason = .fresh
        } else if running != nil {
            reason = .downloading
        } else if let error = tools.origin.foreseenRefusal(of: originRequest(for: url)) {
            (reason, refusal) = (.refused, DownloadError(error))
        } else {
            reason = entry == nil ? .absent : .stale
        }
        return DownloadForecast(
            key: key, reason: reason, refusal: refusal, entry: entry, download: running,
            localPath: entry == nil ? tools.cache.expectedPath(of: key, url: url.string) : entry?.localPath)
    }

    /// The request to the origin, with only the properties that decide whether it is allowed.
    private func originRequest(for url: CanonicalURL) -> OriginRequest {
        var request = OriginRequest(url: url.requestURL)
        request.addressPolicy = tools.options.addressPolicy
        return request
    }
}
