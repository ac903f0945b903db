/// A path with parameters: `/entries/:key/content`. A segment that starts with a colon matches any segment that is not
/// empty; any other segment matches itself, byte for byte. A last segment `*`, as in `/fetch/*`, matches the rest of
/// the target, unless the rest is empty.
struct RoutePattern: Hashable, Sendable {
    enum Segment: Hashable, Sendable {
        case literal(Substring)
        case parameter(Substring)
        case rest
    }

    let text: String
    let segments: [Segment]

    /// Parses a pattern. A pattern that does not start with a slash, has a parameter without a name or two with the
    /// same name, or has a segment after `*` is a programmer error.
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
