import HTTPTypes
import RawStructuredFieldValues

/// Selects and reads the cache directives that an answer addresses to Larder or its kind of cache (RFC 9213).
package enum TargetedCacheControl {
    /// The most applicable field first (§2.2).
    package static let targets: [HTTPField.Name] = [.larderCacheControl, .cdnCacheControl]

    /// From the first readable targeted field, beside which `Expires` and `Cache-Control` do not count (§2.2).
    package static func effective(_ fields: HTTPFields) -> (control: CacheControl, isTargeted: Bool) {
        for name in targets {
            if let control = parse(fields, name: name) { return (control, true) }
        }
        return (CacheControl(fields), false)
    }

    /// `nil` when the field is absent, empty or not a dictionary: it must then be ignored (§2.1). Ignores parameters.
    /// The last of several directives with the same name counts (RFC 8941 §3.2). A directive with a value of the wrong
    /// type does not get its usual meaning (§2.1). A `max-age` that is not an integer is
    /// ``CacheControl/Argument/malformed``, which makes the answer stale at once. A restriction counts with any value
    /// except `?0`. A permission counts only without a value.
    package static func parse(_ fields: HTTPFields, name: HTTPField.Name) -> CacheControl? {
        StructuredField.dictionary(fields, name: name).map { members in
            CacheControl(directives: members.compactMap(directive))
        }
    }

    /// Directives that permit a use and never have a value.
    private static let permissions: Set<String> = ["immutable", "must-understand", "public"]

    private static func directive(_ member: StructuredField.Member) -> CacheControl.Directive? {
        let argument: CacheControl.Argument
        switch member.item {
        case .bool(true): argument = .none
        case .bool(false): return nil
        case .integer(let number) where number >= 0: argument = .value(String(number))
        // `max-age="60"` is a string. It must not become a number when the quotes are removed.
        case .string(let text) where DeltaSeconds.parse(text) == nil: argument = .value(text)
        case .token(let text): argument = .value(text)
        default: argument = .malformed
        }
        if argument != .none, permissions.contains(member.key) { return nil }
        return CacheControl.Directive(name: member.key, argument: argument)
    }
}

extension HTTPField.Name {
    /// RFC 9213 §3.
    package static let cdnCacheControl = Self("CDN-Cache-Control")!
    /// Cache-Control for Larder alone (RFC 9213 §2).
    package static let larderCacheControl = Self("Larder-Cache-Control")!
}
