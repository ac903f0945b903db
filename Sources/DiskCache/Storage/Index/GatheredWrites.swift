// Invariants of this file
//
// - The gathered bytes are contiguous, and continue the last bytes that were written.
// - No part of a commit stays gathered: the last page of the commit writes all bytes that came before it.

/// Gathers the writes to an SQLite log until they form a commit. The type does no I/O itself. In the log each page
/// follows a frame header, and the header of a commit's last page marks the commit
/// (<https://sqlite.org/fileformat2.html#walformat>). SQLite writes each header and each page with a call of its own,
/// and never a part of either. It would split a write only for a disk that may damage the bytes around a write, and by
/// default it assumes that no disk does (`psow`, <https://sqlite.org/uri.html>).
struct GatheredWrites {
    /// SQLite's own `seekAndWriteFd` takes less than 128 KiB at once.
    static let limit = 120 << 10
    /// The bytes with the size of the database are not 0 only for a commit's last page.
    private static let (headLength, commitOffset) = (24, 4..<8)

    /// `nil` until the first write is gathered. A connection that only reads has none.
    private var memory: UnsafeMutableRawBufferPointer?
    private var count = 0
    /// The offset at which the next write must begin to be gathered.
    private var end: Int64 = 0
    private var isCommit = false

    var isEmpty: Bool { count == 0 }
    /// Since the log was opened.
    var hasGathered: Bool { memory != nil }

    /// Gathers or writes bytes. `write` returns 0 on success. Returns the result of its last call, or 0 without a call.
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
        // A write elsewhere replaces older bytes, and is no part of the contiguous range.
        guard isNext, bytes.count <= Self.limit else { return write(bytes, offset) }
        let memory = memory ?? .allocate(byteCount: Self.limit, alignment: 4096)
        self.memory = memory
        UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
        count += bytes.count
        return isCommit && !isHead ? flush(write) : 0
    }

    /// The bytes are dropped even when the write fails, because SQLite then rolls the transaction back.
    mutating func flush(_ write: (UnsafeRawBufferPointer, Int64) -> Int32) -> Int32 {
        guard count > 0, let memory else { return 0 }
        let length = count
        count = 0
        let result = write(UnsafeRawBufferPointer(rebasing: memory[..<length]), end - Int64(length))
        // After a failure the content of the file is unknown.
        if result != 0 { end = -1 }
        return result
    }

    mutating func release() {
        memory?.deallocate()
        (memory, count, end) = (nil, 0, -1)
    }
}
