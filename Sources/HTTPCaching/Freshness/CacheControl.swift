import HTTPTypes

/// The directives of Cache-Control (RFC 9111 §5.2), of a request or a response, in their order.
///
/// ```
/// Cache-Control   = #cache-directive
/// cache-directive = token [ "=" ( token / quoted-string ) ]
/// ```
///
/// Names are compared without case, and unknown directives have no effect. A member that begins with a name but does
/// not follow the grammar keeps the name and gets the argument ``Argument/malformed``, because an unreadable `max-age`
/// is not the same as a missing `max-age`.
package struct CacheControl: Hashable, Sendable {
    package struct Directive: Hashable, Sendable {
        package var name: String
        package var argument: Argument
    }

    package enum Argument: Hashable, Sendable {
        /// Without `=`.
        case none
        /// A token, or the content of a quoted string: a recipient treats both alike.
        case value(String)
        /// Neither a token nor a quoted string.
        case malformed
    }

    package enum Seconds: Hashable, Sendable {
        /// At most ``DeltaSeconds/maximum``.
        case valid(Duration)
        /// Missing or not a number. Counts as 0 for freshness (RFC 9111 §4.2.1).
        case invalid
    }

    package private(set) var directives: [Directive] = []

    package init(_ fields: HTTPFields, name: HTTPField.Name = .cacheControl) {
        for line in fields[values: name] { append(line) }
    }

    package init(_ line: String) {
        append(line)
    }

    /// For directives that another grammar has read; see ``TargetedCacheControl``.
    init(directives: [Directive]) {
        self.directives = directives
    }

    /// `name` is in lower case. The argument does not matter.
    package func contains(_ name: String) -> Bool {
        directives.contains { $0.name == name }
    }

    /// Of the first directive with this name, in lower case. RFC 9111 §4.2.1 permits the first of several directives.
    package func seconds(_ name: String) -> Seconds? {
        guard let directive = directives.first(where: { $0.name == name }) else { return nil }
        guard case .value(let text) = directive.argument, let duration = DeltaSeconds.parse(text) else {
            return .invalid
        }
        return .valid(duration)
    }

    /// §5.2.2.5.
    package var noStore: Bool { contains("no-store") }
    /// With or without field names (§5.2.2.4).
    package var noCache: Bool { contains("no-cache") }
    /// §5.2.2.1.
    package var maxAge: Seconds? { seconds("max-age") }
    /// `s-maxage` (§5.2.2.10), which a shared cache uses in place of `max-age`.
    package var sharedMaxAge: Seconds? { seconds("s-maxage") }

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
