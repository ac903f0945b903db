/// What an expression of PromQL asks of Larder, as far as a test must know it.
struct MetricQuery {
    /// A metric, and what it is narrowed to.
    struct Selector {
        let metric: String
        let matchers: [Matcher]
    }

    /// One condition between the braces.
    struct Matcher {
        let label: String
        /// The alternatives of a regular expression, or the one value.
        let values: [String]
    }

    /// The metrics that begin with `larder_`.
    let selectors: [Selector]
    /// The labels that are aggregated by.
    let groups: [String]

    init(_ expression: String) {
        selectors = expression.matches(of: /(larder_[a-z0-9_]+)(?:\{([^}]*)\})?/).map { match in
            let matchers = (match.output.2 ?? "").matches(of: /([a-z_]+)(?:=~|!~|!=|=)"([^"]*)"/).map { matcher in
                Matcher(
                    label: String(matcher.output.1), values: matcher.output.2.split(separator: "|").map { String($0) })
            }
            return Selector(metric: String(match.output.1), matchers: matchers)
        }
        groups = expression.matches(of: /\bby \(([^)]*)\)/).flatMap { match in
            match.output.1.split(separator: ",").map { String($0.filter { $0 != " " }) }
        }
    }
}
