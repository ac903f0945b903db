import DiskCache
import HTTPTypes
import Origin
import Primitives

extension OriginHead {
    /// After how many seconds the origin may be asked again, as its 429 or 503 says by `Retry-After`; `nil` when it
    /// does not, or says neither seconds nor a date (RFC 9110 §10.2.3). A date that has passed is 0.
    func retryAfter(now: Timestamp) -> Int64? {
        guard status == 429 || status == 503, let text = fields[values: .retryAfter].first else { return nil }
        if let seconds = Int64(digits: text) { return seconds }
        return Timestamp(httpDate: text, now: now).map { max(0, ($0.milliseconds - now.milliseconds + 999) / 1000) }
    }
}

extension DownloadError {
    /// What the cache could not do.
    init(_ error: DiskCacheError) {
        switch error {
        case .noSpace: self = .noSpace
        case .entryTooLarge(let limit): self = .tooLarge(code: 0, limit: limit)
        case .closed: self = .stopping
        case .tooManyTags(let limit): self = .tooManyTags(limit: limit)
        default: self = .storage(error.description)
        }
    }

    /// Why the transfer ended.
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

    /// Whether an older entry may stand in for the answer, as `staleIfError` asks: the origin failed, and it was
    /// neither a refusal of ours nor somebody's wish (RFC 5861 §4).
    var allowsStale: Bool {
        switch self {
        case .originStatus, .transferFailed, .tooLarge, .timedOut, .noSpace, .storage: true
        case .schemeRefused, .addressRefused, .connectionAuthentication, .cancelled, .tooManyTags, .busy, .keyInUse,
            .stopping:
            false
        }
    }
}
