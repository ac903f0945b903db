import DiskCache
import Primitives

@testable import Larder

/// Events for tests.
enum TestEvents {
    static let time = Timestamp(seconds: 1000)

    /// An event of a download with this key.
    static func download(
        _ kind: Event.Kind, _ key: String, in namespace: String = "default", tags: [String] = [], urlLength: Int = 20
    ) -> Event {
        let status = DownloadStatus(
            key: key, url: "http://h/" + String(repeating: "u", count: urlLength), state: .running, receivedBytes: 1,
            bytesPerSecond: 0, waiters: 0, startDate: time)
        return Event(
            kind: kind, time: time, namespace: namespace, subject: .download(DownloadReport(status: status, tags: tags))
        )
    }

    /// Failed downloads with the keys `0`, `1`, and so on.
    static func failures(_ numbers: Range<Int>) -> [Event] {
        numbers.map { download(.downloadFailed, "\($0)") }
    }

    /// The removal of entries that are not named separately.
    static func removal(of count: Int, in namespace: String = "default") -> Event {
        Event(kind: .entryRemoved, time: time, namespace: namespace, subject: .entries(.others(count: count, .all)))
    }
}

extension Event {
    /// The key of a download or an entry, the number of unnamed entries, the id of a change, or the reason of a reset.
    var word: String {
        switch subject {
        case .download(let report): report.status.key
        case .page(let report): report.key
        case .entries(.entry(let entry)): entry.key
        case .entries(.others(let count, _)): "\(count) others"
        case .change(let change): "change \(change.id)"
        case .subscription(let report): report.name
        case .endedSubscription(let name): name
        case .listener(let reason): "\(reason)"
        }
    }
}
