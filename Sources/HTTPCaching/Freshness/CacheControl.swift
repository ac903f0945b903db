import HTTPTypes

/// The directives of Cache-Control (RFC 9111 §5.2), of a request or a response, in their order.
///
/// ```
/// Cache-Control   = #cache-directive
/// cache-directive = token [ "=" ( token / quoted-string ) ]
/// ```
///
/// Names are compared without case; a directive that nobody knows harms nobody. What begins like a directive but does
/// not follow the grammar keeps its name and has the argument ``Argument/malformed``: a `max-age` that cannot be read
/// is not the same as none.
public struct CacheControl: Hashable, Sendable {
    /// One directive.
    public struct Directive: Hashable, Sendable {
        /// The name in lower case.
        public var name: String
        /// What stands behind `=`.
        public var argument: Argument
    }

    /// What stands behind a directive's `=`.
    public enum Argument: Hashable, Sendable {
        /// There is no `=`.
        case none
        /// A token, or the content of a quoted string: a recipient takes both forms alike.
        case value(String)
        /// Something that is neither.
        case malformed
    }

    /// A directive whose argument is a number of seconds.
    public enum Seconds: Hashable, Sendable {
        /// At most ``DeltaSeconds/maximum``.
        case valid(Duration)
        /// There is none, or it is no number. For freshness this counts as 0 (RFC 9111 §4.2.1).
        case invalid
    }

    /// The directives of all lines, in their order.
    public private(set) var directives: [Directive] = []

    /// The directives of each line of a field.
    ///
    /// - Parameter name: the field; `Cache-Control` unless told.
    public init(_ fields: HTTPFields, name: HTTPField.Name = .cacheControl) {
        for line in fields[values: name] { append(line) }
    }

    /// The directives of one line.
    public init(_ line: String) {
        append(line)
    }

    /// Directives that were read by another grammar; see ``TargetedCacheControl``.
    init(directives: [Directive]) {
        self.directives = directives
    }

    /// Whether there is a directive of that (lower-case) name, whatever its argument.
    public func contains(_ name: String) -> Bool {
        directives.contains { $0.name == name }
    }

    /// The seconds of the first directive of that (lower-case) name, which RFC 9111 §4.2.1 lets a cache use when there
    /// are several; `nil` when there is none.
    public func seconds(_ name: String) -> Seconds? {
        guard let directive = directives.first(where: { $0.name == name }) else { return nil }
        guard case .value(let text) = directive.argument, let duration = DeltaSeconds.parse(text) else {
            return .invalid
        }
        return .valid(duration)
    }

    /// `no-store` (§5.2.2.5).
    public var noStore: Bool { contains("no-store") }
    /// `no-cache` (§5.2.2.4), with or without field names.
    public var noCache: Bool { contains("no-cache") }
    /// `max-age` (§5.2.2.1); `nil` without one.
    public var maxAge: Seconds? { seconds("max-age") }
    /// `s-maxage` (§5.2.2.10), which a shared cache uses in place of `max-age`; `nil` without one.
    public var sharedMaxAge: Seconds? { seconds("s-maxage") }

    private mutating func append(_ line: String) {
        var scanner = FieldScanner(line)
        while true {
            scanner.skipListSeparators()
            if scanner.isAtEnd { return }
            if let name = scanner.token() {
                directives.append(Directive(name: name.lowercased(), argument: Self.argument(&scanner)))
            }
            scanner.skipListMember()
        }
    }

    /// Reads what stands between a name and the end of the list member.
    private static func argument(_ scanner: inout FieldScanner) -> Argument {
        var argument = Argument.none
        if scanner.take("=" as Unicode.Scalar) {
            guard let text = scanner.token() ?? scanner.quotedString() else { return .malformed }
            argument = .value(text)
        }
        scanner.skipSpace()
        return scanner.isAtEnd || scanner.isAtListSeparator ? argument : .malformed
    }
}
