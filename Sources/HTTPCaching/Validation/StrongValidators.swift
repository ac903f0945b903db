import HTTPTypes
import Primitives

/// What names exactly one sequence of bytes (RFC 9110 §8.8.1): by these parts are combined, and a 304 chooses what it
/// updates.
struct StrongValidators: Hashable {
    /// The entity tag, when it is strong.
    let etag: EntityTag?
    /// The modification date, when it is strong: the answer was made at least a second later, so that it cannot have
    /// been modified twice in the second that is stated (§8.8.2.2).
    let lastModified: Timestamp?
    /// Whether the origin says by a weak tag that equal dates do not mean equal bytes.
    private let hasWeakTag: Bool

    init(_ fields: HTTPFields, receivedAt: Timestamp) {
        let validators = Validators(fields)
        hasWeakTag = validators.etag?.isWeak ?? false
        etag = hasWeakTag ? nil : validators.etag
        let modified = validators.lastModified.flatMap { Timestamp(httpDate: $0, now: receivedAt) }
        let date = FreshnessLifetime.date(of: fields, receivedAt: receivedAt)
        lastModified = Self.isStrong(lastModified: modified, madeAt: date) ? modified : nil
    }

    /// Whether a modification date is a strong validator (§8.8.2.2); see ``lastModified``.
    ///
    /// - Parameters:
    ///   - lastModified: the date; `nil` when it cannot be read.
    ///   - madeAt: the Date of the answer that states it; `nil` when it is not known.
    static func isStrong(lastModified: Timestamp?, madeAt: Timestamp?) -> Bool {
        guard let lastModified, let madeAt else { return false }
        return madeAt - lastModified >= .seconds(1)
    }

    /// Whether there is nothing by which parts could be told to belong together.
    var isEmpty: Bool { etag == nil && (lastModified == nil || hasWeakTag) }

    /// Whether both name the same bytes. The entity tag decides where either has one.
    func matches(_ other: StrongValidators) -> Bool {
        if let etag { return other.etag.map { etag.matches($0, comparison: .strong) } ?? false }
        return !isEmpty && other.etag == nil && !other.hasWeakTag && lastModified == other.lastModified
    }
}
