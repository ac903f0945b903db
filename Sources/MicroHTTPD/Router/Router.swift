/// Finds what belongs to a method and a target. A value: filled once, then read by any number of threads.
///
/// Patterns are paths in which a segment that starts with a colon, as in `/entries/:key/content`, stands for any one
/// segment that is not empty. A last segment `*`, as in `/fetch/*`, stands for the rest of the target, its query
/// included, if that is not empty. Literal segments win over parameters, and these over the rest. Paths are compared as
/// they were sent: nothing is decoded, `//` has an empty segment in it, and a slash at the end makes another path.
public struct Router<Value: Sendable>: Sendable {
    /// One declared route.
    public struct Route: Sendable {
        /// The method; ``Router/anyMethod`` when it has none of its own.
        public let method: String
        /// The pattern as it was declared.
        public let pattern: String
        /// What was declared for it.
        public let value: Value
    }

    /// What a look-up finds.
    public enum Match: Sendable {
        /// The route's value, the parameters by name, and what `*` stands for (`nil` without one), and the
        /// pattern that matched. All of it as it stands in the text that was looked up: in a ``Request/target`` bytes
        /// that are not UTF-8 are U+FFFD, and only ``Request/withTarget(_:)`` shows those.
        case found(Value, parameters: PathParameters, rest: Substring?, pattern: String)
        /// The path is known, but not with this method; `allow` are those that it has, sorted, as `Allow` lists them.
        case methodNotAllowed(allow: [String])
        /// No pattern has this path.
        case notFound
    }

    private var tree = RouteTree()

    /// Every route, in the order of declaration.
    public private(set) var routes: [Route] = []

    /// A router without routes.
    public init() {}

    /// Declares a route. A method that the pattern has already, or a broken pattern, is a programmer error.
    ///
    /// - Parameter method: as it is sent, in that case of letters; or ``anyMethod``, for all that the pattern has no
    ///   other route for.
    public mutating func add(_ method: String, _ pattern: String, _ value: Value) {
        let pattern = RoutePattern(pattern)
        tree.add(method, pattern, number: routes.count)
        routes.append(Route(method: method, pattern: pattern.text, value: value))
    }

    /// Looks up a request's target. `HEAD` finds the route of `GET`, unless it has one of its own. A pattern with a
    /// route for ``anyMethod`` is never ``Match/methodNotAllowed(allow:)``.
    public func match(method: String, target: some StringProtocol) -> Match {
        switch tree.match(method: method, target: Substring(target)) {
        case .found(let number, let parameters, let rest):
            .found(routes[number].value, parameters: parameters, rest: rest, pattern: routes[number].pattern)
        case .methodNotAllowed(let allow): .methodNotAllowed(allow: allow)
        case .notFound: .notFound
        }
    }
}

extension Router where Value == Never {
    /// Declares a route for every method, unknown ones and lower-case ones included: `router.add(Router.anyMethod, …)`.
    /// (A client may call a method that, too. It finds the same route.) `CONNECT` is among them: refuse it, because a
    /// 2xx to it starts a tunnel and has no body (RFC 9110 §9.3.6).
    public static var anyMethod: String { "*" }
}
