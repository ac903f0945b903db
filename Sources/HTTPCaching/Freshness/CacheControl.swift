import HTTPTypes
import Primitives
import RawStructuredFieldValues

/// The directives of Cache-Control (RFC 9111 §5.2), of a request or a response, in their order: a list
/// `#( token [ "=" ( token / quoted-string ) ] )`.
///
/// Names are compared without case, and unknown directives have no effect. A directive that breaks the grammar behind
/// its name gets ``Argument/malformed``, because an unreadable `max-age` differs from a missing `max-age`.
package struct CacheControl: Hashable, Sendable {
    package struct Directive: Hashable, Sendable {
        package var name: String
        package var argument: Argument
    }

    package enum Argument: Hashable, Sendable {
        /// Without `=`.
        case none
        /// A token, or the content of a quoted string, which has the same meaning.
        case value(String)
        /// Neither a token nor a quoted string.
        case malformed
    }

    package enum Seconds: Hashable, Sendable {
        /// At most ``DeltaSeconds/maximum``.
        case valid(Duration)
        /// The argument is missing or is no number. Counts as 0 for freshness (RFC 9111 §4.2.1).
        case invalid
    }

    package private(set) var directives: [Directive] = []

    package init(_ fields: HTTPFields, name: HTTPField.Name = .cacheControl) {
        for line in fields[values: name] { append(line) }
    }

    package init(_ line: String) {
        append(line)
    }

    /// Takes directives that ``TargetedCacheControl`` has read as a structured field.
    init(directives: [Directive]) {
        self.directives = directives
    }

    /// Whether there is a directive with this lower-case name, with any argument.
    package func contains(_ name: String) -> Bool {
        directives.contains { $0.name == name }
    }

    /// The value of the first directive with this lower-case name, as RFC 9111 §4.2.1 permits; `nil` without one.
    package func seconds(_ name: String) -> Seconds? {
        guard let directive = directives.first(where: { $0.name == name }) else { return nil }
        guard case .value(let text) = directive.argument, let duration = DeltaSeconds.parse(text) else {
            return .invalid
        }
        return .valid(duration)
    }

    /// RFC 9111 §5.2.2.5.
    package var noStore: Bool { contains("no-store") }
    /// With or without field names (RFC 9111 §5.2.2.4).
    package var noCache: Bool { contains("no-cache") }
    /// RFC 9111 §5.2.2.1.
    package var maxAge: Seconds? { seconds("max-age") }
    /// `s-maxage` (RFC 9111 §5.2.2.10), which a shared cache uses in place of `max-age`.
    package var sharedMaxAge: Seconds? { seconds("s-maxage") }

    private mutating func append(_ line: String) {
        var scanner = FieldScanner(line)
        directives += scanner.readableMembers { scanner in
            scanner.token().map { Directive(name: $0.lowercased(), argument: Self.argument(&scanner)) }
        }
    }

    private static func argument(_ scanner: inout FieldScanner) -> Argument {
        var argument = Argument.none
        if scanner.take("=") {
            guard let text = scanner.token() ?? scanner.quotedString() else { return .malformed }
            argument = .value(text)
        }
        scanner.skipSpace()
        return scanner.isAtEnd || scanner.isAtListSeparator ? argument : .malformed
    }
}

/// A number of seconds in digits (RFC 9111 §1.2.2). Any number above 2^31 counts as 2^31 seconds (68 years).
package enum DeltaSeconds {
    package static let maximum = Duration.seconds(1 << 31)

    /// `nil` for any text but digits, such as a sign, a fraction, white space or quotes.
    package static func parse(_ text: some StringProtocol) -> Duration? {
        guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit) else { return nil }
        return min(.seconds(Int64(digits: text) ?? .max), maximum)
    }
}

/// The directives by which a request limits the stored responses that it accepts (RFC 9111 §5.2.1, §5.4).
struct RequestDirectives {
    let noCache: Bool
    /// Forbids to store the answer. The request may still get a stored response (RFC 9111 §5.2.1.5).
    let noStore: Bool
    let onlyIfCached: Bool
    /// The highest accepted age of a response. With an unreadable value no stored response is accepted.
    let maxAge: Duration?
    /// The time for which a response must still be fresh. An unreadable value has no effect.
    let minFresh: Duration?
    /// The longest accepted time since expiry: unlimited without an argument, `nil` if the value is unreadable.
    let maxStale: Duration?
    /// RFC 5861 §4.
    let staleIfError: Duration?

    /// All requests without directives, which are most requests, share one value.
    init(_ fields: HTTPFields) {
        self = fields.contains(.cacheControl) || fields.contains(.pragma) ? Self(stated: fields) : Self.none
    }

    private static let none = Self(stated: [:])

    private init(stated fields: HTTPFields) {
        let control = CacheControl(fields)
        func seconds(_ name: String, invalid: Duration?) -> Duration? {
            switch control.seconds(name) {
            case .valid(let duration): duration
            case .invalid: invalid
            case nil: nil
            }
        }
        // RFC 9111 §5.4: Pragma counts only without Cache-Control, for clients of HTTP/1.0.
        let pragma = fields.contains(.cacheControl) ? nil : CacheControl(fields, name: .pragma)
        noCache = control.noCache || pragma?.noCache == true
        noStore = control.noStore
        onlyIfCached = control.contains("only-if-cached")
        maxAge = seconds("max-age", invalid: .zero)
        minFresh = seconds("min-fresh", invalid: nil)
        let isUnlimited = control.directives.first { $0.name == "max-stale" }?.argument == CacheControl.Argument.none
        maxStale = isUnlimited ? .seconds(Int64.max) : seconds("max-stale", invalid: nil)
        staleIfError = seconds("stale-if-error", invalid: nil)
    }

    /// `max-age=0` always requires validation, even within the first millisecond.
    func accepts(age: Duration) -> Bool {
        maxAge.map { age <= $0 && $0 > .zero } ?? true
    }
}

/// Selects and reads the cache directives that an answer addresses to Larder or to all CDN caches (RFC 9213).
package enum TargetedCacheControl {
    /// The most specific field first (RFC 9213 §2.2).
    package static let targets: [HTTPField.Name] = [.larderCacheControl, .cdnCacheControl]

    /// The directives of the first readable field of ``targets`` (RFC 9213 §2.2), else those of `Cache-Control`.
    package static func effective(_ fields: HTTPFields) -> (control: CacheControl, isTargeted: Bool) {
        for name in targets {
            if let control = parse(fields, name: name) { return (control, true) }
        }
        return (CacheControl(fields), false)
    }

    /// `nil` when the field must be ignored (RFC 9213 §2.1), because it is absent, empty or not a dictionary.
    /// Parameters are ignored. Of several directives with the same name, the last counts (RFC 8941 §3.2). A restriction
    /// counts with any value except `?0`, but a permission counts only without a value. A `max-age` that is not an
    /// integer counts as 0, so that the answer is always stale.
    package static func parse(_ fields: HTTPFields, name: HTTPField.Name) -> CacheControl? {
        StructuredField.dictionary(fields, name: name).map { members in
            CacheControl(directives: members.compactMap(directive))
        }
    }

    /// Directives that permit a use, and that count only without a value.
    private static let permissions: Set<String> = ["immutable", "must-understand", "public"]

    private static func directive(_ member: StructuredField.Member) -> CacheControl.Directive? {
        let argument: CacheControl.Argument
        switch member.item {
        case .bool(true): argument = .none
        case .bool(false): return nil
        case .integer(let number) where number >= 0: argument = .value(String(number))
        // `max-age="60"` is a string. The quotes must not be dropped, because the text would then count as a number.
        case .string(let text) where DeltaSeconds.parse(text) == nil: argument = .value(text)
        case .token(let text): argument = .value(text)
        default: argument = .malformed
        }
        if argument != .none, permissions.contains(member.key) { return nil }
        return CacheControl.Directive(name: member.key, argument: argument)
    }
}

extension HTTPField.Name {
    static let pragma = HTTPField.Name("Pragma")!
    /// RFC 9213 §3.
    package static let cdnCacheControl = Self("CDN-Cache-Control")!
    /// Cache-Control for Larder alone (RFC 9213 §2).
    package static let larderCacheControl = Self("Larder-Cache-Control")!
}
