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
