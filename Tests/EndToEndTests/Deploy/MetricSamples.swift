/// The samples of `/metrics`: their names, and the values of their labels.
struct MetricSamples {
    /// The values of the labels, by the sample's name and the label's name.
    private let values: [String: [String: Set<String>]]

    /// Parses the text format of Prometheus.
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

    /// Whether a sample has this name.
    func has(_ name: String) -> Bool { values[name] != nil }

    /// The names of the labels of all samples with this name, and the labels that Prometheus adds.
    func labels(of name: String) -> Set<String> {
        Set(values[name]?.keys.map { $0 } ?? []).union(["instance", "job"])
    }

    /// The values of a label in all samples with this name.
    func values(of label: String, in name: String) -> Set<String> { values[name]?[label] ?? [] }
}
