import DiskCache
import Origin
import Primitives

/// What a request for a download would come to now, if it were made with nothing but its URL.
public struct DownloadForecast: Sendable {
    /// Why it would be a hit, or would not.
    public enum Reason: String, Sendable, CaseIterable {
        /// The entry is fresh: a hit.
        case fresh
        /// A download of it runs, which the request would wait for.
        case downloading
        /// The entry has expired: the origin would be asked whether it changed, or for all of it when the entry has
        /// nothing to ask with.
        case stale
        /// Nothing is held: it would be downloaded.
        case absent
        /// The cache would not answer, and the origin may not be asked; of a scheme that is not allowed the cache would
        /// not be asked, either.
        case refused
    }

    /// The key of the entry.
    public let key: CacheKey
    /// Why.
    public let reason: Reason
    /// What a request would fail with when it would be refused; `nil` for any other reason.
    public let refusal: DownloadError?
    /// What is held, fresh or stale; `nil` when nothing is.
    public let entry: Entry?
    /// The download that runs; `nil` when none does.
    public let download: DownloadStatus?
    /// Where the body is, or, when nothing is held, would be; `nil` when that is, or may be, in the slab.
    public let localPath: String?

    /// Whether the cache would answer, and the origin not be asked.
    public var isHit: Bool { reason == .fresh }
}

extension DownloadManager {
    /// Says what a request for a URL would come to. It counts as no hit and changes nothing. Of what is held only the
    /// metadata are looked at, not the body; whether the origin may be asked is said as far as the URL says it, without
    /// DNS or the network.
    public func forecast(of url: CanonicalURL) throws(DiskCacheError) -> DownloadForecast {
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

    /// What an origin would be asked, as far as it decides whether it may be.
    private func originRequest(for url: CanonicalURL) -> OriginRequest {
        var request = OriginRequest(url: url.requestURL)
        request.addressPolicy = tools.options.addressPolicy
        return request
    }
}
