/// A validator that names one version of a representation (RFC 9110 §8.8.3).
///
/// ```
/// entity-tag = [ "W/" ] DQUOTE *etagc DQUOTE
/// ```
public struct EntityTag: Hashable, Sendable {
    /// How two tags are compared (§8.8.3.2).
    public enum Comparison: Sendable {
        /// Both are strong, and their texts are the same.
        case strong
        /// Their texts are the same.
        case weak
    }

    /// The text with its quotes, without `W/`.
    public let opaqueTag: String
    /// Whether it only promises that the representations are equivalent, not that their bytes are the same.
    public let isWeak: Bool

    /// A strong tag.
    ///
    /// - Parameter text: what stands between the quotes: visible characters without `"`, which the caller sees to.
    public init(strong text: String) {
        opaqueTag = "\"\(text)\""
        isWeak = false
    }

    /// Reads a tag as a field states it. `nil` when it does not follow the grammar: without quotes, or more than one.
    public init?(_ text: String) {
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

    /// The tag as a field states it.
    public var text: String { isWeak ? "W/" + opaqueTag : opaqueTag }

    /// Whether the two name the same version, or two that are equivalent.
    public func matches(_ other: EntityTag, comparison: Comparison) -> Bool {
        let isComparable = comparison == .weak || (!isWeak && !other.isWeak)
        return isComparable && opaqueTag.utf8.elementsEqual(other.opaqueTag.utf8)
    }

    /// Whether the condition `*` or a list of tags, as If-Match and If-None-Match state it, names `current`.
    ///
    /// What is no tag in the list names nothing.
    ///
    /// - Parameter current: the tag of what is there; `nil` when nothing is there: then nothing matches, `*` neither.
    public static func anyMatches(_ list: String, _ current: EntityTag?, comparison: Comparison) -> Bool {
        guard let current else { return false }
        return EntityTagCondition([list]).names(current, comparison: comparison)
    }

    static func scan(_ scanner: inout FieldScanner) -> EntityTag? {
        // The W is case-sensitive.
        let isWeak = scanner.take("W/" as StaticString)
        guard let opaqueTag = scanner.opaqueTag() else { return nil }
        return EntityTag(opaqueTag: opaqueTag, isWeak: isWeak)
    }
}

/// The value of If-Match and If-None-Match: `"*" / #entity-tag` (RFC 9110 §13.1.1, §13.1.2).
struct EntityTagCondition: Hashable, Sendable {
    private(set) var isAny = false
    private var tags: [EntityTag] = []

    /// The lines of the field, which make one list.
    init(_ lines: [String]) {
        for line in lines {
            var scanner = FieldScanner(line)
            while true {
                scanner.skipListSeparators()
                if scanner.isAtEnd { break }
                if let tag = EntityTag.scan(&scanner) {
                    scanner.skipSpace()
                    if scanner.isAtEnd || scanner.isAtListSeparator { tags.append(tag) }
                }
                scanner.skipListMember()
            }
        }
        // `*` stands alone; in a list it is no tag.
        isAny = lines.count == 1 && lines[0].filter { $0 != " " && $0 != "\t" } == "*"
    }

    func names(_ current: EntityTag, comparison: EntityTag.Comparison) -> Bool {
        isAny || tags.contains { $0.matches(current, comparison: comparison) }
    }
}
