/// Finds the value for a method and a target. A router is a value: it is filled once, then read by any number of
/// threads.
///
/// Patterns are paths. A segment that starts with a colon, as in `/entries/:key/content`, matches any segment that is
/// not empty. A last segment `*`, as in `/fetch/*`, matches the rest of the target, including its query, unless the
/// rest is empty. Literal segments take precedence over parameters, and parameters over the rest. Paths are compared as
/// they were sent: they are not decoded, `//` contains an empty segment, and a slash at the end makes another path.
///
/// ```
/// var router = Router<String>()
/// router.add("GET", "/entries/:key", "entry")
/// let match = router.match(method: "HEAD", target: "/entries/a?b")
/// // .found("entry", …), with the parameter `key` = "a"
/// ```
package struct Router<Value: Sendable>: Sendable {
    package struct Route: Sendable {
        /// The method; ``Router/anyMethod`` for a route of all methods.
        package let method: String
        package let pattern: String
        /// The value that was declared for the route.
        package let value: Value
    }

    package enum Match: Sendable {
        /// The route's value, its parameters, the part that `*` matched (`nil` without a `*`), and the pattern that
        /// matched. The texts are as in the target that was looked up: in a ``Request/target`` bytes that are not UTF-8
        /// are U+FFFD, and only ``Request/withTarget(_:)`` shows the original bytes.
        case found(Value, parameters: PathParameters, rest: Substring?, pattern: String)
        /// The path is known, but not with this method. `allow` lists the methods that it has, sorted, in the form of
        /// `Allow`.
        case methodNotAllowed(allow: [String])
        case notFound
    }

    private var tree = RouteTree()

    /// Every route, in the order of declaration.
    package private(set) var routes: [Route] = []

    package init() {}

    /// Declares a route. A method that the pattern has already, or a broken pattern, is a programmer error.
    ///
    /// - Parameter method: the method as it is sent, in that case of letters; or ``anyMethod``, for all methods without
    ///   a route of their own in this pattern.
    package mutating func add(_ method: String, _ pattern: String, _ value: Value) {
        let pattern = RoutePattern(pattern)
        tree.add(method, pattern, number: routes.count)
        routes.append(Route(method: method, pattern: pattern.text, value: value))
    }

    /// Looks up a request's target. `HEAD` finds the route of `GET`, unless it has a route of its own. A pattern with a
    /// route for ``anyMethod`` is never ``Match/methodNotAllowed(allow:)``.
    package func match(method: String, target: some StringProtocol) -> Match {
        switch tree.match(method: method, target: Substring(target)) {
        case .found(let number, let parameters, let rest):
            .found(routes[number].value, parameters: parameters, rest: rest, pattern: routes[number].pattern)
        case .methodNotAllowed(let allow): .methodNotAllowed(allow: allow)
        case .notFound: .notFound
        }
    }
}

extension Router where Value == Never {
    /// Declares a route for every method, including unknown and lower-case methods: `router.add(Router.anyMethod, …)`.
    /// (A client may send this text as its method, too. It finds the same route.) `CONNECT` is included: refuse it,
    /// because a 2xx to it starts a tunnel and has no body (RFC 9110 §9.3.6).
    package static var anyMethod: String { RouteTree.anyMethod }
}
