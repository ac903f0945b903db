import GRDB
import Primitives

/// Gives back what free slots take on disk: the bodies of one extent after the other go into free slots of others, and
/// what has become empty becomes a hole. That is needed only when sizes change: otherwise what comes fills what goes.
/// Touched by the writer's thread alone.
final class SlabCompaction {
    /// How many bytes free slots may take: half of what eviction keeps free below the limit.
    private let allowance: Int64
    /// Extents whose bodies cannot be moved: one of them is damaged.
    private var stuck: Set<Int> = []
    /// With so many bytes free nothing could be moved: it is no use to try again before there are others.
    private var futileSlack: Int64?

    /// The most bodies that are moved in one transaction, which others wait behind.
    private static let stepLimit = 64

    /// - Parameter headRoom: ``Eviction/headRoom(ofLimit:pinned:)``.
    init(headRoom: Int64) {
        allowance = headRoom / 2
    }

    /// Whether there is something to give back: as soon as there is anything, when the file system has too little room.
    func isWanted(_ slots: SlabMap, room: Int64) -> Bool {
        let slack = slots.slackBytes
        return slack > (room - slack < 0 ? 0 : allowance) && slack != futileSlack
    }

    /// Chooses what to empty; whether there is anything that can be.
    func begins(_ slots: SlabMap) -> Bool {
        if slots.beginDraining(except: stuck) != nil { return true }
        futileSlack = slots.slackBytes
        return false
    }

    /// Moves some bodies.
    func step(_ context: WriteContext) throws {
        guard let number = context.slots.draining else { return }
        for slot in context.slots.used(in: number, limit: Self.stepLimit) {
            let content = try? context.parts.slab.content(of: slot)
            let key = content?.withUnsafeBytes { SlabRecordView($0).map { String(decoding: $0.key, as: UTF8.self) } }
            guard let content, let key = key ?? nil, let row = try? context.index.row(forKey: key), row.slot == slot
            else {
                // The scrub writes such a record anew, or removes its entry.
                stuck.insert(number)
                context.slots.endDraining()
                return
            }
            try context.move(row, content)
        }
    }

    /// A step failed: it is no use to try again before something else was committed.
    func stepFailed(_ slots: SlabMap) {
        slots.endDraining()
        futileSlack = slots.slackBytes
    }
}
