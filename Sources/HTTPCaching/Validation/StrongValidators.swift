import HTTPTypes
import Primitives

/// The validators that identify a single sequence of bytes (RFC 9110 §8.8.1). They decide which parts may be combined
/// and which stored response a 304 updates.
struct StrongValidators: Hashable {
    /// The entity tag; `nil` without a strong tag.
    let etag: EntityTag?
    /// The modification date; `nil` unless it is strong. A date is strong when the answer was generated at least a
    /// second later, because the representation cannot then have changed twice in the stated second (§8.8.2.2).
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

    /// Whether both identify the same bytes. The entity tags decide if either response has a tag.
    func matches(_ other: StrongValidators) -> Bool {
        if let etag { return other.etag.map { etag.matches($0, comparison: .strong) } ?? false }
        return !isEmpty && other.etag == nil && !other.hasWeakTag && lastModified == other.lastModified
    }
}
