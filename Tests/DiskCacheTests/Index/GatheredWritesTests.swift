import Testing

@testable import DiskCache

@Suite("The gathered writes to the index's log")
struct GatheredWritesTests {
    private final class Log {
        var writes: [(offset: Int64, bytes: [UInt8])] = []
        var fails = false
        var gathered = GatheredWrites()

        func write(_ bytes: UnsafeRawBufferPointer, _ offset: Int64) -> Int32 {
            if fails { return 10 }
            writes.append((offset, Array(bytes)))
            return 0
        }

        @discardableResult
        func append(_ bytes: [UInt8], at offset: Int64) -> Int32 {
            bytes.withUnsafeBytes { gathered.append($0, at: offset, write) }
        }

        /// Appends the head of a page, and then the page. Each byte of the page is `number`.
        @discardableResult
        func page(_ number: UInt8, at offset: Int64, isCommit: Bool = false) -> Int32 {
            let result = append(GatheredWritesTests.head(isCommit: isCommit), at: offset)
            return result == 0 ? append([UInt8](repeating: number, count: 4096), at: offset + 24) : result
        }
    }

    private static func head(isCommit: Bool) -> [UInt8] {
        var head = [UInt8](repeating: 7, count: 24)
        head.replaceSubrange(4..<8, with: isCommit ? [0, 0, 1, 0] : [0, 0, 0, 0])
        return head
    }

    @Test("A commit writes all gathered pages in one write")
    func commit() {
        let log = Log()
        log.append([UInt8](repeating: 1, count: 32), at: 0)
        log.page(1, at: 32)
        log.page(2, at: 32 + 4120)
        #expect(log.writes.isEmpty && !log.gathered.isEmpty)
        log.page(3, at: 32 + 2 * 4120, isCommit: true)
        #expect(log.writes.map(\.offset) == [0] && log.gathered.isEmpty)
        #expect(log.writes[0].bytes.count == 32 + 3 * 4120)
        #expect(log.writes[0].bytes.suffix(4096).allSatisfy { $0 == 3 })
        log.page(4, at: 32 + 3 * 4120, isCommit: true)
        #expect(log.writes.map(\.offset) == [0, 32 + 3 * 4120])
    }

    @Test("A write elsewhere than directly behind the gathered pages flushes the pages, and is then written on its own")
    func elsewhere() {
        let log = Log()
        log.append([UInt8](repeating: 1, count: 32), at: 0)
        log.page(1, at: 32)
        // SQLite changes a page that is in the log already. Later it rewrites the heads of that page and of all later
        // pages, because their checksums have changed.
        log.append([UInt8](repeating: 9, count: 4096), at: 56)
        #expect(log.writes.map(\.offset) == [0, 56])
        log.page(2, at: 32 + 4120, isCommit: true)
        log.append(Self.head(isCommit: false), at: 32)
        log.append(Self.head(isCommit: true), at: 32 + 4120)
        #expect(log.writes.map(\.offset) == [0, 56, 32 + 4120, 32, 32 + 4120])
        #expect(log.gathered.isEmpty)
        #expect(log.writes.last?.bytes == Self.head(isCommit: true))
    }

    @Test("No gathered write exceeds 120 KiB, and a longer piece is written alone")
    func limit() {
        let log = Log()
        log.append([UInt8](repeating: 1, count: 32), at: 0)
        for number in 0..<100 { log.page(UInt8(number), at: 32 + Int64(number) * 4120, isCommit: number == 99) }
        #expect(log.gathered.isEmpty)
        #expect(log.writes.allSatisfy { $0.bytes.count <= 120 << 10 })
        #expect(log.writes.count == 4)
        var end: Int64 = 0
        for write in log.writes {
            #expect(write.offset == end)
            end += Int64(write.bytes.count)
        }
        #expect(end == 32 + 100 * 4120)
        log.append([UInt8](repeating: 1, count: 200_000), at: end)
        #expect(log.writes.last?.bytes.count == 200_000)
    }

    @Test("A failed write is reported to SQLite, and its bytes are dropped")
    func failure() {
        let log = Log()
        log.append([UInt8](repeating: 1, count: 32), at: 0)
        log.fails = true
        #expect(log.page(1, at: 32, isCommit: true) == 10)
        #expect(log.gathered.isEmpty)
        log.fails = false
        // After the error, SQLite writes to the same place of the log again.
        #expect(log.page(2, at: 32, isCommit: true) == 0)
        #expect(log.writes.allSatisfy { $0.offset >= 32 })
        #expect(log.writes.last?.bytes.suffix(4096).allSatisfy { $0 == 2 } == true)
    }
}
