import HTTPTypes
import RawStructuredFieldValues

/// Cache-Control for some caches only (RFC 9213), and which of an answer's fields are those for Larder.
public enum TargetedCacheControl {
    /// The fields that are for Larder, the most applicable first (§2.2).
    public static let targets: [HTTPField.Name] = [.larderCacheControl, .cdnCacheControl]

    /// The directives that count for an answer, and whether a targeted field states them: then `Expires` does not
    /// count, and neither does `Cache-Control` (§2.2).
    ///
    /// They are those of the first targeted field that has a value that can be read; without one, those of
    /// `Cache-Control`.
    public static func effective(_ fields: HTTPFields) -> (control: CacheControl, isTargeted: Bool) {
        for name in targets {
            if let control = parse(fields, name: name) { return (control, true) }
        }
        return (CacheControl(fields), false)
    }

    /// The directives of one targeted field; `nil` when it is not there, is empty or is no dictionary, and must be
    /// ignored (§2.1). Parameters are ignored. Of a repeated directive the last counts (RFC 8941 §3.2).
    ///
    /// A directive whose value is not of its type is not taken for what it seems to say (§2.1): a `max-age` that is no
    /// integer is ``CacheControl/Argument/malformed``, and so makes the answer stale at once. A restriction counts all
    /// the same, whatever its value, but for `?0`; a permission does not.
    public static func parse(_ fields: HTTPFields, name: HTTPField.Name) -> CacheControl? {
        StructuredField.dictionary(fields, name: name).map { members in
            CacheControl(directives: members.compactMap(directive))
        }
    }

    /// Directives that allow something, and never have a value.
    private static let permissions: Set<String> = ["immutable", "must-understand", "public"]

    private static func directive(_ member: StructuredField.Member) -> CacheControl.Directive? {
        let argument: CacheControl.Argument
        switch member.item {
        case .bool(true): argument = .none
        case .bool(false): return nil
        case .integer(let number) where number >= 0: argument = .value(String(number))
        // `max-age="60"` is a string, which must not be read as a number once the quotes are gone.
        case .string(let text) where DeltaSeconds.parse(text) == nil: argument = .value(text)
        case .token(let text): argument = .value(text)
        default: argument = .malformed
        }
        if argument != .none, permissions.contains(member.key) { return nil }
        return CacheControl.Directive(name: member.key, argument: argument)
    }
}

extension HTTPField.Name {
    /// `CDN-Cache-Control` (RFC 9213 §3).
    public static let cdnCacheControl = Self("CDN-Cache-Control")!
    /// `Larder-Cache-Control`: Cache-Control for Larder alone (RFC 9213 §2).
    public static let larderCacheControl = Self("Larder-Cache-Control")!
}
