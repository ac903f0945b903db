import Primitives
import Testing

@testable import Larder

@Suite("Ended downloads")
struct EndedDownloadsTests {
    private func status(_ key: String, endedAt date: Timestamp, urlLength: Int = 20) -> DownloadStatus {
        DownloadStatus(
            key: key, url: "http://h/" + String(repeating: "u", count: urlLength), state: .succeeded, receivedBytes: 1,
            bytesPerSecond: 0, waiters: 0,
            startDate: date, endDate: date)
    }

    @Test("An ended download is remembered for ten minutes")
    func lifetime() {
        var ended = EndedDownloads(within: SharedAllowance(limit: 32 << 20))
        let start = Timestamp(seconds: 1000)
        ended.insert(status("a", endedAt: start), now: start)
        #expect(ended.status(of: "a", now: start + .milliseconds(599_999)) != nil)
        #expect(ended.status(of: "a", now: start + .seconds(600)) == nil)
    }

    @Test("A later download of a key replaces the earlier download and its end date")
    func replacement() {
        var ended = EndedDownloads(within: SharedAllowance(limit: 32 << 20))
        let start = Timestamp(seconds: 1000)
        ended.insert(status("a", endedAt: start), now: start)
        let later = start + .seconds(300)
        ended.insert(status("a", endedAt: later), now: later)
        #expect(ended.latest(10, now: start + .seconds(700)).map(\.endDate) == [later])
        #expect(ended.count == 1)
    }

    @Test("The oldest download is forgotten when there are more downloads than the limit")
    func limit() {
        var ended = EndedDownloads(within: SharedAllowance(limit: 32 << 20))
        let now = Timestamp(seconds: 1000)
        for number in 0...EndedDownloads.limit { ended.insert(status("\(number)", endedAt: now), now: now) }
        #expect(ended.count == EndedDownloads.limit)
        #expect(ended.status(of: "0", now: now) == nil)
        #expect(ended.status(of: "1", now: now) != nil)
    }

    @Test("Ended downloads with very long URLs take a bounded number of bytes together")
    func bytes() {
        var ended = EndedDownloads(within: SharedAllowance(limit: 32 << 20))
        let now = Timestamp(seconds: 1000)
        for number in 0..<EndedDownloads.limit {
            ended.insert(status("\(number)", endedAt: now, urlLength: 8000), now: now)
        }
        #expect((1000...(16 << 20) / 8000).contains(ended.count))
        #expect(ended.status(of: "\(EndedDownloads.limit - 1)", now: now) != nil)
    }

    @Test("The list begins with the download that ended last, and has each key once")
    func latest() {
        var ended = EndedDownloads(within: SharedAllowance(limit: 32 << 20))
        let now = Timestamp(seconds: 1000)
        for key in ["a", "b", "c", "a"] { ended.insert(status(key, endedAt: now), now: now) }
        #expect(ended.latest(10, now: now).map(\.key) == ["a", "c", "b"])
        #expect(ended.latest(2, now: now).map(\.key) == ["a", "c"])
        #expect(ended.latest(0, now: now).isEmpty)
    }

    @Test("When the table forgets ended downloads, their room is free for other namespaces")
    func forgotten() {
        let room = SharedAllowance(limit: 100_000)
        let start = Timestamp(seconds: 1000)
        var one = EndedDownloads(within: room)
        for number in 0..<1000 { one.insert(status("\(number)", endedAt: start), now: start) }
        let other = SharedAllowance.Part(of: room)
        #expect(!other.take(40_000))
        one.forget(now: start + .seconds(600))
        #expect(other.take(40_000))
    }

    @Test("The list of ended downloads limits those of each namespace, so that other namespaces have room")
    func ended() {
        let room = SharedAllowance(limit: 100_000)
        let now = Timestamp(seconds: 1000)
        var (one, other) = (EndedDownloads(within: room), EndedDownloads(within: room))
        for number in 0..<1000 { one.insert(status("\(number)", endedAt: now), now: now) }
        #expect((80...95).contains(one.count))
        #expect(one.status(of: "999", now: now) != nil)
        for number in 0..<1000 { other.insert(status("\(number)", endedAt: now), now: now) }
        #expect((40...48).contains(other.count))
        #expect(one.count > 80)
    }

    @Test("An ended download that takes more than the whole room is not remembered, and pushes out all earlier ones")
    func tooLong() {
        var ended = EndedDownloads(within: SharedAllowance(limit: 2000))
        let now = Timestamp(seconds: 1000)
        ended.insert(status("a", endedAt: now), now: now)
        ended.insert(status("b", endedAt: now, urlLength: 2000), now: now)
        #expect(ended.count == 0)
        ended.insert(status("c", endedAt: now), now: now)
        #expect(ended.latest(10, now: now).map(\.key) == ["c"])
    }
}

@Suite("A linked table")
struct LinkedTableTests {
    @Test("A linked table keeps the order in which values were added, even after removals")
    func order() {
        var table = LinkedTable<Int, String>()
        for key in 0..<6 { table.append("\(key)", for: key) }
        #expect(table.prefix(3) == ["0", "1", "2"])
        let removed = [0, 3, 5, 3].map { table.remove($0) }
        #expect(removed == ["0", "3", "5", nil])
        #expect(table.prefix(9) == ["1", "2", "4"])
        table.append("1 again", for: 1)
        table.append("6", for: 6)
        #expect(table.prefix(9) == ["2", "4", "1 again", "6"])
        table.rotate()
        #expect(table.prefix(9) == ["4", "1 again", "6", "2"])
        #expect(table.first?.key == 4)
        for key in [1, 2, 4, 6] { table.remove(key) }
        #expect(table.isEmpty && table.count == 0 && table.first == nil)
        table.rotate()
        table.append("7", for: 7)
        #expect(table.prefix(9) == ["7"])
    }
}
