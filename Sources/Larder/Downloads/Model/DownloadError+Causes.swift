import DiskCache
import HTTPTypes
import Origin
import Primitives

extension OriginHead {
    /// The seconds after which the origin may be asked again, from the `Retry-After` of a 429 or 503. `nil` for another
    /// status, and when the field is missing or holds neither seconds nor a date (RFC 9110 §10.2.3). A date in the past
    /// gives 0.
    func retryAfter(now: Timestamp) -> Int64? {
        guard status == 429 || status == 503, let text = fields[values: .retryAfter].first else { return nil }
        if let seconds = Int64(digits: text) { return seconds }
        return Timestamp(httpDate: text, now: now).map { max(0, ($0.milliseconds - now.milliseconds + 999) / 1000) }
    }
}

extension DownloadError {
    /// The error for a failure of the cache.
    init(_ error: DiskCacheError) {
        switch error {
        case .noSpace: self = .noSpace
        case .entryTooLarge(let limit): self = .tooLarge(code: 0, limit: limit)
        case .closed: self = .stopping
        case .tooManyTags(let limit): self = .tooManyTags(limit: limit)
        default: self = .storage(error.description)
        }
    }

    /// The error for a failed transfer.
    init(_ error: OriginError) {
        switch error.kind {
        case .addressRefused(let rule): self = .addressRefused(rule)
        case .schemeRefused(let scheme): self = .schemeRefused(scheme)
        case .timedOut: self = .timedOut(code: error.code, words: error.message)
        case .tooLarge(let limit): self = .tooLarge(code: error.code, limit: limit)
        case .cancelled: self = .cancelled
        case .receiver(let cause as DownloadError): self = cause
        case .receiver(let cause as DiskCacheError): self = DownloadError(cause)
        default: self = .transferFailed(code: error.code, words: error.message)
        }
    }

    /// Whether an older entry may replace the answer, as `staleIfError` asks (RFC 5861 §4): the origin or the storing
    /// of its answer failed. Larder's own refusals and cancellations do not count.
    var allowsStale: Bool {
        switch self {
        case .originStatus, .transferFailed, .tooLarge, .timedOut, .noSpace, .storage: true
        case .schemeRefused, .addressRefused, .connectionAuthentication, .cancelled, .tooManyTags, .busy, .keyInUse,
            .stopping:
            false
        }
    }
}
