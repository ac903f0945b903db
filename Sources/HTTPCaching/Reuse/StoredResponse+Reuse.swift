import HTTPTypes
import Primitives

extension StoredResponse {
    /// Whether a request may have it at all: what only a caller's ttl allowed to be kept is for callers with a ttl and
    /// the same Authorization.
    public func isOpen(to request: CacheRequest) -> Bool {
        guard let grant, grant.isOnlyReason else { return true }
        return request.callerTTL != nil && grant.authorization == request.authorization
    }

    /// Whether every byte that a request asks for is held (RFC 9111 §3.3, §4). That no byte satisfies it is known as
    /// well, when the length is.
    ///
    /// - Parameter held: what is held of the representation; `nil`: ``part``.
    func covers(_ request: CacheRequest, held: ByteCoverage?, now: Timestamp) -> Bool {
        guard let part else { return true }
        guard let completeLength, let ranges = ByteRangeSet(request.fields, method: request.method) else {
            return false
        }
        // RFC 9110 §13.1.5: a condition that does not hold asks for the whole.
        let conditions = ConditionalRequest(request.fields, method: request.method, now: now)
        guard conditions.allowsRange(of: representation, now: now) else { return false }
        switch ranges.resolve(length: completeLength) {
        case .whole: return false
        case .unsatisfiable: return true
        case .parts(let wanted):
            let held = held ?? ByteCoverage([part])
            return wanted.allSatisfy(held.contains)
        }
    }

    /// What conditions are compared with.
    private var representation: SelectedRepresentation {
        let validators = Validators(fields)
        return SelectedRepresentation(
            etag: validators.etag,
            lastModified: validators.lastModified.flatMap { Timestamp(httpDate: $0, now: receivedAt) },
            isLastModifiedStrong: StrongValidators(fields, receivedAt: receivedAt).lastModified != nil)
    }
}
