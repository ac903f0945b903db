/// A validator that names a version of a representation (RFC 9110 §8.8.3): `[ "W/" ] DQUOTE *etagc DQUOTE`.
package struct EntityTag: Hashable, Sendable {
    /// RFC 9110 §8.8.3.2.
    package enum Comparison: Sendable {
        /// Both tags are strong, and their texts are equal.
        case strong
        case weak
    }

    /// With its quotes, without `W/`.
    package let opaqueTag: String
    /// A weak tag names equivalent representations, which may differ in their bytes.
    package let isWeak: Bool

    /// The text must have only visible characters without `"`.
    package init(strong text: String) {
        opaqueTag = "\"\(text)\""
        isWeak = false
    }

    /// `nil` when the text does not follow the grammar, such as a text without quotes or with more than a single tag.
    package init?(_ text: String) {
        var scanner = FieldScanner(text)
        scanner.skipSpace()
        guard let tag = Self.scan(&scanner) else { return nil }
        scanner.skipSpace()
        guard scanner.isAtEnd else { return nil }
        self = tag
    }

    private init(opaqueTag: String, isWeak: Bool) {
        self.opaqueTag = opaqueTag
        self.isWeak = isWeak
    }

    package var text: String { isWeak ? "W/" + opaqueTag : opaqueTag }

    package func matches(_ other: EntityTag, comparison: Comparison) -> Bool {
        let isComparable = comparison == .weak || (!isWeak && !other.isWeak)
        return isComparable && opaqueTag.utf8.elementsEqual(other.opaqueTag.utf8)
    }

    /// Whether the value of If-Match or If-None-Match, `*` or a list of tags, names `current`. Invalid members of the
    /// list are ignored. `false` when no current representation exists, even for `*`.
    package static func anyMatches(_ list: String, _ current: EntityTag?, comparison: Comparison) -> Bool {
        guard let current else { return false }
        return EntityTagCondition([list]).names(current, comparison: comparison)
    }

    static func scan(_ scanner: inout FieldScanner) -> EntityTag? {
        // The W is case-sensitive.
        let isWeak = scanner.take("W/")
        guard let opaqueTag = scanner.opaqueTag() else { return nil }
        return EntityTag(opaqueTag: opaqueTag, isWeak: isWeak)
    }
}

/// The value of If-Match and If-None-Match: `"*" / #entity-tag` (RFC 9110 §13.1.1, §13.1.2).
struct EntityTagCondition: Hashable, Sendable {
    private(set) var isAny = false
    private var tags: [EntityTag] = []

    init(_ lines: [String]) {
        for line in lines {
            var scanner = FieldScanner(line)
            tags += scanner.readableMembers { scanner in
                guard let tag = EntityTag.scan(&scanner) else { return nil }
                scanner.skipSpace()
                return scanner.isAtEnd || scanner.isAtListSeparator ? tag : nil
            }
        }
        // `*` must be the whole value; in a list it is not a valid tag.
        isAny = lines.count == 1 && lines[0].filter { $0 != " " && $0 != "\t" } == "*"
    }

    func names(_ current: EntityTag, comparison: EntityTag.Comparison) -> Bool {
        isAny || tags.contains { $0.matches(current, comparison: comparison) }
    }
}
