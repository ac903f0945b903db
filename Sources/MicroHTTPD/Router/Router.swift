/// Finds the value for a method and a target. A router is filled once, then read by any number of threads.
///
/// A segment that starts with a colon, as in `/entries/:key/content`, matches any segment that is not empty. A last
/// `*`, as in `/fetch/*`, matches the rest of the target with its query, if the rest is not empty. A literal segment is
/// preferred to a parameter, and a parameter to the rest. Paths are compared as they were sent: they are not decoded,
/// `//` contains an empty segment, and a path with a slash at the end differs from the path without this slash.
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
        /// `rest` is the part that `*` matched; `nil` without a `*`. For bytes that are not UTF-8 see
        /// ``Request/target``.
        case found(Value, parameters: PathParameters, rest: Substring?, pattern: String)
        /// `allow` lists the methods of the path, sorted, as in the field `Allow`.
        case methodNotAllowed(allow: [String])
        case notFound
    }

    private var tree = RouteTree()
    package private(set) var routes: [Route] = []

    package init() {}

    /// `method` is case-sensitive. ``anyMethod`` means all methods without their own route in this pattern. A method
    /// that the pattern has already, and a broken pattern, stop the process as programmer errors.
    package mutating func add(_ method: String, _ pattern: String, _ value: Value) {
        let pattern = RoutePattern(pattern)
        tree.add(method, pattern, number: routes.count)
        routes.append(Route(method: method, pattern: pattern.text, value: value))
    }

    /// `HEAD` finds the route of `GET`, unless `HEAD` has its own. A pattern with ``anyMethod`` allows every method.
    package func match(method: String, target: some StringProtocol) -> Match {
        switch tree.match(method: method, target: Substring(target)) {
        case .found(let number, let parameters, let rest, let pattern):
            .found(routes[number].value, parameters: parameters, rest: rest, pattern: pattern)
        case .methodNotAllowed(let allow): .methodNotAllowed(allow: allow)
        case .notFound: .notFound
        }
    }
}

extension Router where Value == Never {
    /// Stands for all methods, also for unknown and lower-case methods and the method `*`. A route for all methods
    /// should refuse `CONNECT`, because a 2xx to `CONNECT` starts a tunnel and has no body (RFC 9110 §9.3.6).
    package static var anyMethod: String { RouteTree.anyMethod }
}

/// A ``Router``'s tree of segments, with the routes' numbers. A separate type, because generic look-ups are slower.
struct RouteTree: Sendable {
    private struct Route {
        var method: String
        var pattern: String
        var number: Int
        var parameterNames: [Substring]
    }

    private struct Node {
        /// A list and not a dictionary, because few literals follow a node.
        var literals: [(text: Substring, next: Int)] = []
        var parameter: Int?
        var rest: Int?
        var routes: [Route] = []
    }

    private struct Captures {
        var values: [Substring] = []
        var rest: Substring?
    }

    static let anyMethod = "*"
    private var nodes = [Node()]

    mutating func add(_ method: String, _ pattern: RoutePattern, number: Int) {
        var place = 0
        for segment in pattern.segments { place = descend(from: place, by: segment) }
        precondition(
            !nodes[place].routes.contains { $0.method == method }, "\(method) \(pattern.text) is declared twice")
        nodes[place].routes.append(
            Route(method: method, pattern: pattern.text, number: number, parameterNames: pattern.parameterNames))
    }

    /// Finds the number of a route.
    func match(method: String, target: Substring) -> Router<Int>.Match {
        guard target.utf8.first == UInt8(ascii: "/") else { return .notFound }
        // The bytes are compared, because a slash and a following combining mark would be a single `Character`.
        let path = target.utf8.dropFirst().prefix { $0 != UInt8(ascii: "?") }
        var captures = Captures()
        guard let place = find(path, of: target, from: 0, captures: &captures) else { return .notFound }
        let routes = nodes[place].routes
        let found =
            routes.first { $0.method == method }
            ?? (method == "HEAD" ? routes.first { $0.method == "GET" } : nil)
            ?? routes.first { $0.method == Self.anyMethod }
        guard let found else { return .methodNotAllowed(allow: Self.allowed(routes.map(\.method))) }
        let parameters = PathParameters(names: found.parameterNames, values: captures.values)
        return .found(found.number, parameters: parameters, rest: captures.rest, pattern: found.pattern)
    }

    private static func allowed(_ methods: [String]) -> [String] {
        var methods = Set(methods)
        if methods.contains("GET") { methods.insert("HEAD") }
        return methods.sorted()
    }

    private mutating func descend(from place: Int, by segment: RoutePattern.Segment) -> Int {
        switch segment {
        case .literal(let text):
            if let next = literal(text.utf8, at: place) { return next }
            nodes.append(Node())
            nodes[place].literals.append((text, nodes.count - 1))
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

    /// `path` is `nil` after the last segment. If a literal leads to no route, a parameter is tried, and then the rest.
    private func find(
        _ path: Substring.UTF8View?, of target: Substring, from place: Int, captures: inout Captures
    ) -> Int? {
        guard let path else { return nodes[place].routes.isEmpty ? nil : place }
        // If only `*` can follow, the path need not be split.
        let isOnlyRest = nodes[place].literals.isEmpty && nodes[place].parameter == nil
        if !isOnlyRest {
            let end = path.firstIndex(of: UInt8(ascii: "/"))
            let segment = path[..<(end ?? path.endIndex)]
            let following = end.map { path[path.index(after: $0)...] }
            if let next = literal(segment, at: place),
                let found = find(following, of: target, from: next, captures: &captures)
            {
                return found
            }
            if let next = nodes[place].parameter, !segment.isEmpty {
                captures.values.append(Substring(segment))
                if let found = find(following, of: target, from: next, captures: &captures) { return found }
                captures.values.removeLast()
            }
        }
        guard let next = nodes[place].rest, path.startIndex < target.endIndex else { return nil }
        captures.rest = target[path.startIndex...]
        return next
    }

    private func literal(_ segment: Substring.UTF8View, at place: Int) -> Int? {
        nodes[place].literals.first { $0.text.utf8.elementsEqual(segment) }?.next
    }
}

struct RoutePattern: Hashable, Sendable {
    enum Segment: Hashable, Sendable {
        case literal(Substring)
        case parameter(Substring)
        case rest
    }

    let text: String
    let segments: [Segment]

    init(_ text: String) {
        precondition(text.hasPrefix("/"), "a route's pattern starts with a slash: \(text)")
        self.text = text
        segments = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map { segment in
            if segment == "*" { return .rest }
            return segment.hasPrefix(":") ? .parameter(segment.dropFirst()) : .literal(segment)
        }
        precondition(!segments.dropLast().contains(.rest), "the rest of a path must be its last segment: \(text)")
        let names = parameterNames
        precondition(names.allSatisfy { !$0.isEmpty }, "a parameter without a name: \(text)")
        precondition(Set(names).count == names.count, "a parameter's name is used twice: \(text)")
    }

    var parameterNames: [Substring] {
        segments.compactMap { segment in
            if case .parameter(let name) = segment { return name }
            return nil
        }
    }
}

/// The values of a route's parameters in a target, in the order of the pattern.
package struct PathParameters: Sendable {
    /// Without their colons.
    package let names: [Substring]
    /// The values as they were sent, not decoded.
    package let values: [Substring]
}
