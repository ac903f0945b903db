/// What a server shows on `/metrics`: the names of the samples, and the values of their labels.
struct MetricSamples {
    /// By name and label.
    private let values: [String: [String: Set<String>]]

    /// Reads the text format.
    init(_ text: String) {
        var values: [String: [String: Set<String>]] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let name = String(line.prefix { $0 != "{" && $0 != " " })
            values[name, default: [:]]["__name__", default: []].insert(name)
            for label in line.matches(of: /([a-z_]+)="([^"]*)"/) {
                values[name, default: [:]][String(label.output.1), default: []].insert(String(label.output.2))
            }
        }
        self.values = values
    }

    /// Whether there is a sample of that name.
    func has(_ name: String) -> Bool { values[name] != nil }

    /// The names of the labels that samples of that name have, and those that Prometheus gives them.
    func labels(of name: String) -> Set<String> {
        Set(values[name]?.keys.map { $0 } ?? []).union(["instance", "job"])
    }

    /// The values of a label that samples of that name have.
    func values(of label: String, in name: String) -> Set<String> { values[name]?[label] ?? [] }
}
