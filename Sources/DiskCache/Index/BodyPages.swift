/// What a body takes of the index file, by the arithmetic of SQLite's file format:
/// <https://sqlite.org/fileformat2.html#b_tree_pages>, "B-tree Cell Format" and "Cell Payload Overflow Pages".
///
/// A page of the table `bodies` holds whole cells. So a body of 2,048 bytes takes as much as one of 4,000, for no
/// second fits beside it; a longer one keeps a first piece on the page and has the rest on pages of its own.
enum BodyPages {
    /// SQLite's own default.
    private static let pageSize: Int64 = 4096
    /// Without the header of a leaf of a table.
    private static let leafRoom = pageSize - 8
    /// The most of a record that stands on a leaf of a table: `U - 35`.
    private static let localLimit = pageSize - 35
    /// The least of one that does not fit: `((U - 12) * 32 / 255) - 23`.
    private static let localMinimum = (pageSize - 12) * 32 / 255 - 23
    /// What an overflow page holds beside the number of the next.
    private static let overflowRoom = pageSize - 4
    /// The most that a record's header, a cell's two numbers (its length, its row), the number of the first overflow
    /// page and the pointer to the cell take.
    private static let recordHeader: Int64 = 6
    private static let cellHeader: Int64 = 3 + 9 + 4 + 2

    /// The bytes of a body's overflow pages, and of its part of a leaf that it shares with bodies of its length.
    static func bytes(forLength length: Int64) -> Int64 {
        let record = length + recordHeader
        var local = record
        if record > localLimit {
            local = localMinimum + (record - localMinimum) % overflowRoom
            if local > localLimit { local = localMinimum }
        }
        let overflowPages = (record - local + overflowRoom - 1) / overflowRoom
        let cellsOfLeaf = max(1, leafRoom / (local + cellHeader))
        // SQLite joins leaves only once two thirds of one are free: where bodies share them, and have not gone in the
        // order in which they came, a third of what they take is holes.
        let partOfLeaf = min(pageSize, (pageSize + cellsOfLeaf - 1) / cellsOfLeaf * 3 / 2)
        return partOfLeaf + overflowPages * pageSize
    }
}
