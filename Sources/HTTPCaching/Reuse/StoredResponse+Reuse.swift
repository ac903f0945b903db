import HTTPTypes
import Primitives

extension StoredResponse {
    /// A response stored only because of a caller's ttl is limited to requests with a ttl and the same Authorization.
    package func isOpen(to request: CacheRequest) -> Bool {
        guard let grant, grant.isOnlyReason else { return true }
        return request.callerTTL != nil && grant.authorization == request.authorization
    }

    /// Whether every byte that a request needs is available (RFC 9111 §3.3, §4). An unsatisfiable range needs no bytes,
    /// if the complete length is known. `held` has the available bytes; `nil` means ``part``.
    func covers(_ request: CacheRequest, held: ByteCoverage?, now: Timestamp) -> Bool {
        guard let part else { return true }
        guard let completeLength, let ranges = ByteRangeSet(request.fields, method: request.method) else {
            return false
        }
        // RFC 9110 §13.1.5: when the condition does not hold, the request asks for the whole representation.
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

    private var representation: SelectedRepresentation {
        let validators = Validators(fields)
        return SelectedRepresentation(
            etag: validators.etag,
            lastModified: validators.lastModified.flatMap { Timestamp(httpDate: $0, now: receivedAt) },
            isLastModifiedStrong: StrongValidators(fields, receivedAt: receivedAt).lastModified != nil)
    }
}
