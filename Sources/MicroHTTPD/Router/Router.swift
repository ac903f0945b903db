/// Finds the value for a method and a target. A router is filled once, then read by any number of threads.
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
        /// ``Router/anyMethod`` for a route of all methods.
        package let method: String
        package let pattern: String
        package let value: Value
    }

    package enum Match: Sendable {
        /// `rest` is the part that `*` matched, `nil` without a `*`. In a ``Request/target`` bytes that are not UTF-8
        /// are U+FFFD; only ``Request/withTarget(_:)`` shows the original bytes.
        case found(Value, parameters: PathParameters, rest: Substring?, pattern: String)
        /// `allow` lists the methods of the path, sorted, in the form of `Allow`.
        case methodNotAllowed(allow: [String])
        case notFound
    }

    private var tree = RouteTree()
    package private(set) var routes: [Route] = []

    package init() {}

    /// `method` is the method as it is sent, in that case of letters; or ``anyMethod``, for all methods without a route
    /// of their own in this pattern. A method that the pattern has already, or a broken pattern, is a programmer error.
    package mutating func add(_ method: String, _ pattern: String, _ value: Value) {
        let pattern = RoutePattern(pattern)
        tree.add(method, pattern, number: routes.count)
        routes.append(Route(method: method, pattern: pattern.text, value: value))
    }

    /// `HEAD` finds the route of `GET`, unless it has its own. A pattern with ``anyMethod`` allows every method.
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
    /// Includes unknown and lower-case methods: `router.add(Router.anyMethod, …)`. A client may send this text as its
    /// method. Refuse `CONNECT`, because a 2xx to it starts a tunnel and has no body (RFC 9110 §9.3.6).
    package static var anyMethod: String { RouteTree.anyMethod }
}
