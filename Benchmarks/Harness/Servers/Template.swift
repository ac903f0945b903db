import Foundation

/// A file of `Benchmarks/peers` with placeholders, written as `@NAME@`.
struct Template {
    let text: String

    /// Reads the file `name` and replaces its placeholders by `values`. Throws if a placeholder is left.
    init(_ name: String, in bench: Bench, _ values: [String: String]) throws {
        let file = bench.benchmarks.appendingPathComponent("peers/\(name)")
        var text = try String(contentsOf: file, encoding: .utf8)
        for (name, value) in values { text = text.replacingOccurrences(of: "@\(name)@", with: value) }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for line in lines where !line.drop(while: \.isWhitespace).hasPrefix("#") {
            if line.range(of: "@[A-Z]+@", options: .regularExpression) != nil {
                throw BenchmarkError("\(name): no value for the placeholder in \(line)")
            }
        }
        self.text = text
    }

    /// Writes the text to a file.
    func write(to file: URL) throws {
        try text.write(to: file, atomically: false, encoding: .utf8)
    }

    /// The lines except empty lines and comments: a command line with one argument per line.
    var arguments: [String] {
        text.split(separator: "\n").map(String.init).filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }
}
