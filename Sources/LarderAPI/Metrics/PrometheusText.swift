import Larder

/// Writes the Prometheus text exposition format, version 0.0.4.
struct PrometheusText {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""

    /// Begins a family of samples. The samples must follow.
    mutating func begin(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    mutating func sample(_ name: String, _ labels: [(String, String)] = [], _ value: some CustomStringConvertible) {
        text += name
        if !labels.isEmpty {
            text += "{" + labels.map { "\($0.0)=\"\(Self.escape($0.1))\"" }.joined(separator: ",") + "}"
        }
        text += " \(value)\n"
    }

    mutating func counter(_ name: String, _ help: String, _ value: some CustomStringConvertible) {
        begin(name, "counter", help)
        sample(name, [], value)
    }

    mutating func gauge(_ name: String, _ help: String, _ value: (some CustomStringConvertible)?) {
        guard let value else { return }
        begin(name, "gauge", help)
        sample(name, [], value)
    }

    mutating func family<Value: CustomStringConvertible>(
        _ name: String, _ type: String, _ help: String, by label: String, _ values: [(String, Value)]
    ) {
        begin(name, type, help)
        for (text, value) in values { sample(name, [(label, text)], value) }
    }

    mutating func histogram(
        _ name: String, _ labels: [(String, String)] = [], _ snapshot: (cumulative: [Int], sum: Double)
    ) {
        let (cumulative, sum) = snapshot
        for (bound, count) in zip(DurationHistogram.bounds.map { "\($0)" } + ["+Inf"], cumulative) {
            sample(name + "_bucket", labels + [("le", bound)], count)
        }
        sample(name + "_sum", labels, sum)
        sample(name + "_count", labels, cumulative.last ?? 0)
    }

    private static func escape(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}
