import Foundation

/// The seeds of tests with random histories.
package enum Seeds {
    /// Returns `usual`, so that a test is the same in each run. `SEEDS` of the environment, such as `1000-4999`,
    /// replaces it, to look for faults in further histories.
    package static func range(_ usual: Range<UInt64>) -> Range<UInt64> {
        guard let text = ProcessInfo.processInfo.environment["SEEDS"] else { return usual }
        let ends = text.split(separator: "-").compactMap { UInt64($0) }
        guard ends.count == 2, ends[0] <= ends[1], ends[1] < .max else {
            fatalError("SEEDS=\(text): write two numbers, such as 1000-4999")
        }
        return ends[0]..<ends[1] + 1
    }
}
