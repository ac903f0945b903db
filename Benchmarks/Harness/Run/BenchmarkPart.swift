/// A part of the benchmark that can run alone.
protocol BenchmarkPart: Sendable {
    /// The name of the part on the command line.
    static var name: String { get }
    /// A description of the measurement in a sentence or two, printed above the table of the part.
    static var summary: String { get }

    init()
    /// Measures the part. Returns no rows if the data for the measurement is missing.
    func run(_ bench: Bench) throws -> [Row]
}

/// All parts, in the order in which they run.
///
/// `fill` runs before the parts that remove a million files at their end. For up to six minutes after such a removal,
/// ext4 examines each freed inode before it allocates an inode, and creating files is many times as slow.
let allParts: [any BenchmarkPart.Type] = [
    Hits.self, Instructions.self, Fill.self, Disk.self, Connections.self, Listeners.self, Mixed.self, Pages.self,
    Start.self, Listing.self, Storage.self, Eviction.self,
]
