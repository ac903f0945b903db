import DiskCache
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

package enum DownloadError: Error, Hashable, Sendable {
    case schemeRefused(String)
    /// The origin's address is not allowed. The text names the rule.
    case addressRefused(String)
    /// The origin's final answer has a status outside 2xx. `retryAfter`: the seconds in the `Retry-After` of a 429 or
    /// 503; `nil` without it.
    case originStatus(Int, retryAfter: Int64?)
    /// The origin was not asked, because it wants no request before `until`. `retryAfter`: the seconds until then.
    case hostPaused(origin: String, until: Timestamp, retryAfter: Int64)
    /// The answer is for the client of its connection (NTLM, Negotiate), and not for every caller.
    case connectionAuthentication
    /// The transfer broke off, or its answer cannot be used. Carries libcurl's code (0 without a code) and words.
    case transferFailed(code: Int32, words: String)
    /// The body is longer than an entry may be. Carries libcurl's code and the limit in bytes.
    case tooLarge(code: Int32, limit: Int64)
    /// The origin took too long. Carries libcurl's code and words.
    case timedOut(code: Int32, words: String)
    case cancelled
    case noSpace
    /// The cache could not store the body.
    case storage(String)
    case tooManyTags(limit: Int)
    case busy
    /// Another resource with the same key is being downloaded: a collision of MD5.
    case keyInUse
    case stopping
}

extension DownloadError: CustomStringConvertible {
    /// A sentence for the caller and the operator. The words of a transfer's failure are libcurl's.
    package var description: String {
        switch self {
        case .schemeRefused(let scheme):
            "the scheme \"\(scheme)\" is not allowed; start the server with --schemes to add it"
        case .addressRefused(let rule):
            "the origin is not allowed: \(rule); see --allow-origin, --deny-origin and --origin-ports"
        case .originStatus(let status, _): "the origin answered with status \(status)"
        case .hostPaused(let origin, let end, _):
            "\(origin) asked for a pause until \(end.rfc3339) (Retry-After), so Larder did not send the request; retry "
                + "then"
        case .connectionAuthentication:
            "the origin authenticates the connection (NTLM, Negotiate), so its answer is for one client and is not "
                + "stored"
        case .transferFailed(_, let words), .timedOut(_, let words): words
        case .tooLarge(_, let limit): "the body is longer than \(limit) bytes, the limit for one entry (--entry-limit)"
        case .cancelled: "the download was cancelled"
        case .noSpace: "no room: the disk is full, or a limit is reached and the entries are pinned or in use"
        case .storage(let words): "the entry could not be stored: \(words)"
        case .tooManyTags(let limit): "the entry has too many tags; the limit is \(limit)"
        case .busy: "the limit of running and waiting downloads is reached; retry later"
        case .keyInUse: "another URL with the same MD5 is being downloaded; retry later"
        case .stopping: "the server is stopping"
        }
    }
}

extension OriginHead {
    /// The seconds in the `Retry-After` of a 429 or 503; 0 for a date in the past. `nil` for another status, and when
    /// the field is missing or holds neither seconds nor a date (RFC 9110 §10.2.3). The field may have any number of
    /// digits; a number above 2^31 counts as 2^31, as in ``DeltaSeconds``.
    func retryAfter(now: Timestamp) -> Int64? {
        guard status == 429 || status == 503, let text = fields[values: .retryAfter].first else { return nil }
        if let time = DeltaSeconds.parse(text) { return time.milliseconds / 1000 }
        return Timestamp(httpDate: text, now: now).map { max(0, ($0.milliseconds - now.milliseconds + 999) / 1000) }
    }
}

extension DownloadError {
    init(_ error: DiskCacheError) {
        switch error {
        case .noSpace: self = .noSpace
        case .entryTooLarge(let limit): self = .tooLarge(code: 0, limit: limit)
        case .closed: self = .stopping
        case .tooManyTags(let limit): self = .tooManyTags(limit: limit)
        default: self = .storage(error.description)
        }
    }

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

    /// The wish of a paused host for the rest of its pause; `nil` for other errors.
    func hostWish(at now: Timestamp) -> HostWish? {
        guard case .hostPaused(let origin, let end, _) = self else { return nil }
        return HostWish(origin: origin, time: max(end - now, .zero))
    }

    /// Whether `staleIfError` permits to serve an older entry in place of this error (RFC 5861 §4): the origin failed,
    /// or Larder could not store the answer. Refusals by Larder and cancellations do not permit it.
    var allowsStale: Bool {
        switch self {
        case .originStatus, .hostPaused, .transferFailed, .tooLarge, .timedOut, .noSpace, .storage: true
        case .schemeRefused, .addressRefused, .connectionAuthentication, .cancelled, .tooManyTags, .busy, .keyInUse,
            .stopping:
            false
        }
    }
}
