import GRDB
import Primitives

/// Gives back the disk space of free slots. Moves the bodies of an extent into free slots of other extents, extent by
/// extent, and turns each emptied extent into a hole. Compaction is needed only when the sizes of bodies change.
/// Otherwise new bodies fill the slots of removed bodies. Used by the writer's thread alone.
final class SlabCompaction {
    /// The bytes that free slots may take: half of the room that eviction keeps free below the limit.
    private let allowance: Int64
    /// The extents that cannot be emptied, because they hold a damaged body.
    private var stuck: Set<Int> = []
    /// The value of ``SlabMap/slackBytes`` at which no body could be moved. Compaction does not try again until that
    /// value changes.
    private var futileSlack: Int64?

    /// The most bodies that a transaction moves. Other operations wait behind that transaction.
    private static let stepLimit = 64

    /// - Parameter headRoom: ``DiskFullness/headRoom(ofLimit:pinned:)``.
    init(headRoom: Int64) {
        allowance = headRoom / 2
    }

    /// Whether free slots take more than the allowance. The allowance is 0 when the file system has too little room.
    func isWanted(_ slots: SlabMap, room: Int64) -> Bool {
        let slack = slots.slackBytes
        return slack > (room - slack < 0 ? 0 : allowance) && slack != futileSlack
    }

    /// Chooses the extent to empty. Returns whether such an extent exists.
    func begins(_ slots: SlabMap) -> Bool {
        if slots.beginDraining(except: stuck) != nil { return true }
        futileSlack = slots.slackBytes
        return false
    }

    /// Moves up to ``stepLimit`` bodies out of the chosen extent.
    func step(_ context: WriteContext) throws {
        guard let number = context.slots.draining else { return }
        for slot in context.slots.used(in: number, limit: Self.stepLimit) {
            let content = try? context.parts.slab.content(of: slot)
            let key = content?.withUnsafeBytes { SlabRecordView($0).map { String(decoding: $0.key, as: UTF8.self) } }
            guard let content, let key = key ?? nil, let row = try? context.index.row(forKey: key), row.slot == slot
            else {
                // The scrubber rewrites such a record, or removes its entry.
                stuck.insert(number)
                context.slots.endDraining()
                return
            }
            try context.move(row, content)
        }
    }

    /// Ends compaction after a failed step. Compaction does not try again until the slack changes.
    func stepFailed(_ slots: SlabMap) {
        slots.endDraining()
        futileSlack = slots.slackBytes
    }
}
