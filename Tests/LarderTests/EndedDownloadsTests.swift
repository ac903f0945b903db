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

    @Test("Ended downloads are remembered for ten minutes")
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

    @Test("URLs of the greatest length take a bounded number of bytes together")
    func bytes() {
        var ended = EndedDownloads(within: SharedAllowance(limit: 32 << 20))
        let now = Timestamp(seconds: 1000)
        for number in 0..<EndedDownloads.limit {
            ended.insert(status("\(number)", endedAt: now, urlLength: 8000), now: now)
        }
        #expect((1000...(16 << 20) / 8000).contains(ended.count))
        #expect(ended.status(of: "\(EndedDownloads.limit - 1)", now: now) != nil)
    }

    @Test("The latest end comes first, and each key is listed once")
    func latest() {
        var ended = EndedDownloads(within: SharedAllowance(limit: 32 << 20))
        let now = Timestamp(seconds: 1000)
        for key in ["a", "b", "c", "a"] { ended.insert(status(key, endedAt: now), now: now) }
        #expect(ended.latest(10, now: now).map(\.key) == ["a", "c", "b"])
        #expect(ended.latest(2, now: now).map(\.key) == ["a", "c"])
        #expect(ended.latest(0, now: now).isEmpty)
    }
}
