import DiskCache
import Primitives

extension DownloadManager {
    /// The position of a caller that waits. Its leaving does not affect the other callers. It does not affect the
    /// download either, unless the caller gives the download up.
    package final class Place: Sendable {
        enum Step {
            /// The cache is being looked at on a thread that may wait for the disk.
            case looking
            case waiting(UInt64)
            case left(givesUp: Bool)
        }

        let key: String
        let step = Locked(Step.looking)

        init(key: String) {
            self.key = key
        }

        var current: Step { step.withLock(\.self) }
    }

    /// Gives up a caller's place. Its completion is not called any more.
    ///
    /// - Parameter givingUp: whether the caller does not want the download any more. If no other caller wants it
    ///   either, the download ends if it still waits for its turn. A download that has begun continues.
    package func leave(_ place: Place, givingUp: Bool = false) {
        let number: UInt64? = place.step.withLock { step in
            defer { step = .left(givesUp: givingUp) }
            if case .waiting(let number) = step { return number }
            return nil
        }
        guard let number else { return }
        remove(number, from: place.key, givingUp: givingUp)
    }

    /// Removes a caller from the download that it waits for. The lock is held, so that the caller does not move to the
    /// download that follows meanwhile.
    func remove(_ number: UInt64, from key: String, givingUp: Bool) {
        let (fetch, actions) = state.withLock { state -> (DownloadFetch?, [DownloadFetch.Machine.Action]) in
            guard let fetch = state.running[key]?.fetch else { return (nil, []) }
            return (fetch, fetch.state.withLock { $0.machine.handle(.left(number, givesUp: givingUp)) })
        }
        fetch?.perform(actions)
    }
}

/// A download and the request of the download that follows it.
struct RunningDownload {
    let fetch: DownloadFetch
    /// The request of the download that follows; `nil` when no caller asked for it.
    var next: DownloadRequest?
}

extension DownloadFetch {
    /// The tags of all callers so far, sorted.
    var tags: [String] { state.withLock(\.notes.wishes.tags).sorted() }

    /// Whether no caller waits for this download, or for the download that follows.
    var isUnawaited: Bool { state.withLock { $0.machine.callers.isEmpty && $0.machine.later.isEmpty } }

    /// Takes the callers that wait for the download that follows.
    func takeQueue() -> Machine.Queue { state.withLock { $0.machine.takeQueue() } }

    /// Adds a caller to this download. `nil`: the entry would have too many tags.
    ///
    /// A caller that wants a newer body than this download brings, or comes after a purge, is queued for the download
    /// that follows.
    ///
    /// - Parameter nextTags: the tags of the download that follows, if the caller is queued for it.
    func admit(
        _ waiter: DownloadWaiter?, number: UInt64, _ request: DownloadRequest, nextTags: Set<String>
    ) -> Machine.Admission? {
        state.withLock { state in
            let isLate = request.refresh || state.reservation?.isPurged == true
            let isQueued = isLate || state.machine.isCancelled || state.machine.phase == .ended
            let tags = isQueued ? nextTags : state.notes.wishes.tags.union(request.tags)
            guard tags.count <= Entry.tagLimit else { return nil }
            if !isQueued {
                state.notes.wishes.formUnion(request.wishes)
                if !request.tags.isEmpty { state.reservation?.addTags(request.tags.sorted()) }
            }
            return state.machine.join(waiter, number: number, isLate: isLate)
        }
    }
}
