import Foundation

/// The miss ratios that were published with some traces: the table in the README beside them, a row a trace and share.
package struct PublishedRatios: Sendable {
    /// What one policy misses.
    package struct Ratio: Sendable, Equatable {
        /// Its name.
        package var policy: String
        /// Misses for each request.
        package var objects: Double
        /// Missed bytes for each byte that was asked for, if that was published too.
        package var bytes: Double?
    }

    private var rows: [(trace: String, percent: Int, ratios: [Ratio])] = []

    /// Reads a table whose first columns are `trace` and `share`, and the others policies: `0.821 / 0.972`, objects and
    /// bytes, or objects alone.
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

    /// What was published of a trace with a cache of so many hundredths of its footprint; empty: nothing.
    package func ratios(of trace: String, percent: Int) -> [Ratio] {
        rows.first { $0.trace == trace && $0.percent == percent }?.ratios ?? []
    }
}
