import Primitives
import Testing

@testable import Larder

@Suite("The allowance that all namespaces share")
struct SharedAllowanceTests {
    @Test("A namespace alone may take half, and every later namespace finds some left")
    func halves() {
        let allowance = SharedAllowance(limit: 1000)
        let parts = (0..<5).map { _ in SharedAllowance.Part(of: allowance) }
        let taken = parts.map { part in
            var count = 0
            while part.take(1) { count += 1 }
            return count
        }
        #expect(taken == [500, 250, 125, 62, 31])
    }

    @Test("Each namespace can take the floor, however much the other namespaces have taken")
    func floor() {
        let allowance = SharedAllowance(limit: 100, floor: 10)
        let parts = (0..<20).map { _ in SharedAllowance.Part(of: allowance) }
        for part in parts { while part.take(1) {} }
        let last = SharedAllowance.Part(of: allowance)
        for _ in 0..<10 { #expect(last.take(1)) }
        #expect(!last.take(1))
    }

    @Test("Expired ended downloads free their room for other namespaces")
    func forgotten() {
        let room = SharedAllowance(limit: 100_000)
        let start = Timestamp(seconds: 1000)
        var one = EndedDownloads(within: room)
        for number in 0..<1000 { one.insert(status("\(number)", start), now: start) }
        let other = SharedAllowance.Part(of: room)
        #expect(!other.take(40_000))
        one.forget(now: start + .seconds(600))
        #expect(other.take(40_000))
    }

    @Test("Returned room, and the room of an owner that has ended, can be taken again")
    func givenBack() {
        let allowance = SharedAllowance(limit: 100)
        let first = SharedAllowance.Part(of: allowance)
        #expect(first.take(50))
        #expect(!first.take(1))
        first.giveBack(20)
        #expect(first.take(20))
        do {
            let second = SharedAllowance.Part(of: allowance)
            #expect(second.take(25))
            #expect(!second.take(1))
        }
        let third = SharedAllowance.Part(of: allowance)
        #expect(third.take(25))
    }

    @Test("Ended downloads of a namespace stay within its limit, and leave room for another namespace")
    func ended() {
        let room = SharedAllowance(limit: 100_000)
        let now = Timestamp(seconds: 1000)
        var (one, other) = (EndedDownloads(within: room), EndedDownloads(within: room))
        for number in 0..<1000 { one.insert(status("\(number)", now), now: now) }
        #expect((80...95).contains(one.count))
        #expect(one.status(of: "999", now: now) != nil)
        for number in 0..<1000 { other.insert(status("\(number)", now), now: now) }
        #expect((40...48).contains(other.count))
        #expect(one.count > 80)
    }

    @Test("A download longer than all room is not remembered, and clears the earlier downloads")
    func tooLong() {
        var ended = EndedDownloads(within: SharedAllowance(limit: 2000))
        let now = Timestamp(seconds: 1000)
        ended.insert(status("a", now), now: now)
        ended.insert(status("b", now, urlLength: 2000), now: now)
        #expect(ended.count == 0)
        ended.insert(status("c", now), now: now)
        #expect(ended.latest(10, now: now).map(\.key) == ["c"])
    }

    private func status(_ key: String, _ date: Timestamp, urlLength: Int = 20) -> DownloadStatus {
        DownloadStatus(
            key: key, url: String(repeating: "u", count: urlLength), state: .succeeded, receivedBytes: 1,
            bytesPerSecond: 0, waiters: 0, startDate: date, endDate: date)
    }
}
