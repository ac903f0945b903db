import GRDB
import Primitives

/// Gives back the disk space of free slots by moving bodies out of an extent, which becomes a hole. Needed only when
/// the sizes of bodies change: otherwise new bodies fill the slots of removed bodies. For the writer's thread.
final class SlabCompaction {
    /// The bytes that free slots may take: half of the room that eviction keeps free below the limit.
    private let allowance: Int64
    /// The extents that cannot be emptied, because they hold a damaged body.
    private var stuck: Set<Int> = []
    /// ``SlabMap/slackBytes`` when no body could be moved. Compaction does not try again before a change.
    private var futileSlack: Int64?

    /// The most bodies that a transaction moves. Other operations wait behind that transaction.
    private static let stepLimit = 64

    init(headRoom: Int64) {
        allowance = headRoom / 2
    }

    /// Whether free slots take more than the allowance, which is 0 when the file system has too little room.
    func isWanted(_ slots: SlabMap, room: Int64) -> Bool {
        let slack = slots.slackBytes
        return slack > (room - slack < 0 ? 0 : allowance) && slack != futileSlack
    }

    func begins(_ slots: SlabMap) -> Bool {
        if slots.beginDraining(except: stuck) != nil { return true }
        futileSlack = slots.slackBytes
        return false
    }

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

    func stepFailed(_ slots: SlabMap) {
        slots.endDraining()
        futileSlack = slots.slackBytes
    }
}
