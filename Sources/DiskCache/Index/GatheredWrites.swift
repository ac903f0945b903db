// Invariants of this file
//
// - What is gathered goes to one place: behind what was written or gathered last.
// - Of a commit nothing stays gathered: its last page has every byte written that came before.

/// Writes to a log of SQLite's, gathered until they are a commit; without I/O.
///
/// In the log each page stands behind a head, and the head of a commit's last page says so
/// (<https://sqlite.org/fileformat2.html#walformat>). SQLite writes each with a call of its own, and no part of one: it
/// would only where the disk may spoil what is around a write, which it takes no disk for by default (`psow`,
/// <https://sqlite.org/uri.html>).
struct GatheredWrites {
    /// The most bytes: SQLite's own `seekAndWriteFd` takes less than 128 KiB at once.
    static let limit = 120 << 10
    /// How long a head is, and where in it the size of the database is, which only a commit's last page has.
    private static let (headLength, commitOffset) = (24, 4..<8)

    /// `nil` until something was gathered: a connection that only reads has none.
    private var memory: UnsafeMutableRawBufferPointer?
    private var count = 0
    /// Where the next write must begin to be gathered.
    private var end: Int64 = 0
    private var isCommit = false

    /// Whether nothing is gathered.
    var isEmpty: Bool { count == 0 }

    /// Whether anything ever was.
    var hasGathered: Bool { memory != nil }

    /// Takes a write.
    ///
    /// - Parameter write: writes bytes at an offset, for the call alone; 0 when it did.
    /// - Returns: what the last call of `write` returned; 0 without one.
    mutating func append(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64, _ write: (UnsafeRawBufferPointer, Int64) -> Int32
    ) -> Int32 {
        let isHead = bytes.count == Self.headLength
        if isHead { isCommit = bytes[Self.commitOffset].contains { $0 != 0 } }
        let isNext = offset == end
        if !isNext || count + bytes.count > Self.limit {
            let result = flush(write)
            guard result == 0 else { return result }
        }
        end = offset + Int64(bytes.count)
        // What goes over something older is no part of what is being written behind it.
        guard isNext, bytes.count <= Self.limit else { return write(bytes, offset) }
        let memory = memory ?? .allocate(byteCount: Self.limit, alignment: 4096)
        self.memory = memory
        UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
        count += bytes.count
        return isCommit && !isHead ? flush(write) : 0
    }

    /// Writes what was gathered; see ``append(_:at:_:)``. It is forgotten, even when that fails: then SQLite takes the
    /// transaction back.
    mutating func flush(_ write: (UnsafeRawBufferPointer, Int64) -> Int32) -> Int32 {
        guard count > 0, let memory else { return 0 }
        let length = count
        count = 0
        let result = write(UnsafeRawBufferPointer(rebasing: memory[..<length]), end - Int64(length))
        // After that nobody knows what is there.
        if result != 0 { end = -1 }
        return result
    }

    /// Gives the memory back.
    mutating func release() {
        memory?.deallocate()
        (memory, count, end) = (nil, 0, -1)
    }
}
