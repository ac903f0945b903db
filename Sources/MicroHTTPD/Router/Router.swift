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
        case found(Value, parameters: [Substring: Substring], rest: Substring?, pattern: String)
        /// The path is known, but not with this method; `allow` are those that it has, sorted, as `Allow` lists them.
        case methodNotAllowed(allow: [String])
        /// No pattern has this path.
        case notFound
    }

    /// A place in the tree of segments.
    private struct Node: Sendable {
        var literals: [Substring: Int] = [:]
        var parameter: Int?
        var rest: Int?
        var routes: [(route: Route, names: [Substring])] = []
    }

    /// What a pattern's variable parts stand for.
    private struct Captures {
        var values: [Substring] = []
        var rest: Substring?
    }

    private var nodes = [Node()]

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
        var place = 0
        for segment in pattern.segments { place = descend(from: place, by: segment) }
        precondition(
            !nodes[place].routes.contains { $0.route.method == method },
            "\(method) \(pattern.text) is declared twice")
        let route = Route(method: method, pattern: pattern.text, value: value)
        nodes[place].routes.append((route, pattern.parameterNames))
        routes.append(route)
    }

    /// Looks up a request's target. `HEAD` finds the route of `GET`, unless it has one of its own. A pattern with a
    /// route for ``anyMethod`` is never ``Match/methodNotAllowed(allow:)``.
    public func match(method: String, target: some StringProtocol) -> Match {
        let target = Substring(target)
        guard target.utf8.first == UInt8(ascii: "/") else { return .notFound }
        // By bytes: a combining mark behind a slash would make one character of the two.
        let path = target.utf8.dropFirst().prefix { $0 != UInt8(ascii: "?") }
        var captures = Captures()
        guard let place = find(path, of: target, from: 0, captures: &captures) else { return .notFound }
        let routes = nodes[place].routes
        let found =
            routes.first { $0.route.method == method }
            ?? (method == "HEAD" ? routes.first { $0.route.method == "GET" } : nil)
            ?? routes.first { $0.route.method == Router<Never>.anyMethod }
        guard let found else { return .methodNotAllowed(allow: allowed(routes.map(\.route.method))) }
        let parameters = Dictionary(uniqueKeysWithValues: zip(found.names, captures.values))
        return .found(
            found.route.value, parameters: parameters, rest: captures.rest, pattern: found.route.pattern)
    }

    private func allowed(_ methods: [String]) -> [String] {
        var methods = Set(methods)
        if methods.contains("GET") { methods.insert("HEAD") }
        return methods.sorted()
    }

    private mutating func descend(from place: Int, by segment: RoutePattern.Segment) -> Int {
        switch segment {
        case .literal(let text):
            if let next = nodes[place].literals[text] { return next }
            nodes.append(Node())
            nodes[place].literals[text] = nodes.count - 1
        case .parameter:
            if let next = nodes[place].parameter { return next }
            nodes.append(Node())
            nodes[place].parameter = nodes.count - 1
        case .rest:
            if let next = nodes[place].rest { return next }
            nodes.append(Node())
            nodes[place].rest = nodes.count - 1
        }
        return nodes.count - 1
    }

    /// The place that what is left of the path leads to, with what the variable parts on the way stand for; `nil` is
    /// left when the last segment was taken. A literal that leads nowhere gives way to a parameter, and that to the
    /// rest.
    private func find(
        _ path: Substring.UTF8View?, of target: Substring, from place: Int, captures: inout Captures
    ) -> Int? {
        guard let path else { return nodes[place].routes.isEmpty ? nil : place }
        // Nothing but the rest can follow: it need not be taken apart.
        let isOnlyRest = nodes[place].literals.isEmpty && nodes[place].parameter == nil
        if !isOnlyRest {
            let end = path.firstIndex(of: UInt8(ascii: "/"))
            let segment = Substring(path[..<(end ?? path.endIndex)])
            let following = end.map { path[path.index(after: $0)...] }
            if let next = nodes[place].literals[segment],
                let found = find(following, of: target, from: next, captures: &captures)
            {
                return found
            }
            if let next = nodes[place].parameter, !segment.isEmpty {
                captures.values.append(segment)
                if let found = find(following, of: target, from: next, captures: &captures) { return found }
                captures.values.removeLast()
            }
        }
        guard let next = nodes[place].rest, path.startIndex < target.endIndex else { return nil }
        captures.rest = target[path.startIndex...]
        return next
    }
}

extension Router where Value == Never {
    /// Declares a route for every method, unknown ones and lower-case ones included: `router.add(Router.anyMethod, …)`.
    /// (A client may call a method that, too. It finds the same route.) `CONNECT` is among them: refuse it, because a
    /// 2xx to it starts a tunnel and has no body (RFC 9110 §9.3.6).
    public static var anyMethod: String { "*" }
}
