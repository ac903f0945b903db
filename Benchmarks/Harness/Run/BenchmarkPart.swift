/// One part of the benchmark, which can be run alone.
protocol BenchmarkPart: Sendable {
    /// As it is called on the command line.
    static var name: String { get }
    /// What it measures, in a sentence or two; stands above its table.
    static var summary: String { get }

    init()
    /// Measures. Without rows there was nothing to measure with.
    func run(_ bench: Bench) throws -> [Row]
}

/// All parts, in the order in which they run.
///
/// `fill` comes before those that leave a million files to be removed: for up to six minutes after that ext4 looks at
/// each inode that was freed before it takes one, and who makes files then is many times as slow.
let allParts: [any BenchmarkPart.Type] = [
    Hits.self, Instructions.self, Fill.self, Disk.self, Connections.self, Listeners.self, Mixed.self, Start.self,
    Listing.self, Storage.self, Eviction.self,
]
