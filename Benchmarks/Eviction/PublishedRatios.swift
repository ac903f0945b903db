import Foundation

/// The miss ratios that were published with the traces, in the table of their README with a row per trace and share.
package struct PublishedRatios: Sendable {
    /// The miss ratios of a policy.
    package struct Ratio: Sendable, Equatable {
        /// The name of the policy.
        package var policy: String
        /// Misses divided by requests.
        package var objects: Double
        /// Missed bytes divided by requested bytes, or `nil` if this ratio was not published.
        package var bytes: Double?
    }

    private var rows: [(trace: String, percent: Int, ratios: [Ratio])] = []

    /// Reads a table. The first columns are `trace` and `share`, and each further column is a policy. A cell has the
    /// ratios of objects and bytes, such as `0.821 / 0.972`, or of objects alone.
    package init(markdown text: String) {
        var policies: [String] = []
        for line in text.split(separator: "\n") where line.hasPrefix("|") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count > 2 else { continue }
            if cells[0] == "trace" {
                policies = Array(cells[2...])
            } else if let percent = Int(cells[1].prefix { $0.isNumber }), cells.count == policies.count + 2 {
                let ratios = zip(policies, cells[2...]).compactMap { policy, cell -> Ratio? in
                    let numbers = cell.split(separator: "/").map { $0.trimmingCharacters(in: .whitespaces) }
                    guard let objects = numbers.first.flatMap(Double.init) else { return nil }
                    return Ratio(
                        policy: policy, objects: objects, bytes: numbers.dropFirst().first.flatMap(Double.init))
                }
                rows.append((cells[0], percent, ratios))
            }
        }
    }

    /// The published ratios for a trace and a cache of `percent` of its footprint. Empty if there are no published
    /// ratios.
    package func ratios(of trace: String, percent: Int) -> [Ratio] {
        rows.first { $0.trace == trace && $0.percent == percent }?.ratios ?? []
    }
}
