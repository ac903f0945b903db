/// The metrics, conditions and aggregations of a PromQL expression, as far as the tests need them.
struct MetricQuery {
    /// A metric with the conditions on its labels.
    struct Selector {
        let metric: String
        let matchers: [Matcher]
    }

    /// A condition on a label, which stands in the braces behind the metric.
    struct Matcher {
        let label: String
        /// The alternatives of a regular expression, or a single value.
        let values: [String]
    }

    /// The selectors of the metrics that begin with `larder_`.
    let selectors: [Selector]
    /// The labels of all `by` clauses.
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
