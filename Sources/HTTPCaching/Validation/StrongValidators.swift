import HTTPTypes
import Primitives

/// Validators of a single sequence of bytes (RFC 9110 §8.8.1), by which parts combine and a 304 finds its response.
struct StrongValidators: Hashable {
    let etag: EntityTag?
    /// `nil` unless Date is at least a second later, so that no second change can have the same date (§8.8.2.2).
    let lastModified: Timestamp?
    /// Whether a weak tag shows that equal dates do not imply equal bytes.
    private let hasWeakTag: Bool

    init(_ fields: HTTPFields, receivedAt: Timestamp) {
        let validators = Validators(fields)
        hasWeakTag = validators.etag?.isWeak ?? false
        etag = hasWeakTag ? nil : validators.etag
        let modified = validators.lastModified.flatMap { Timestamp(httpDate: $0, now: receivedAt) }
        let date = FreshnessLifetime.date(of: fields, receivedAt: receivedAt)
        lastModified = Validators.isStrong(lastModified: modified, madeAt: date) ? modified : nil
    }

    /// Whether no validator can show that two parts belong together.
    var isEmpty: Bool { etag == nil && (lastModified == nil || hasWeakTag) }

    /// The entity tags decide if either response has a tag.
    func matches(_ other: StrongValidators) -> Bool {
        if let etag { return other.etag.map { etag.matches($0, comparison: .strong) } ?? false }
        return !isEmpty && other.etag == nil && !other.hasWeakTag && lastModified == other.lastModified
    }
}
