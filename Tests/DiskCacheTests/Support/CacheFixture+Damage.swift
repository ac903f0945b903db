import Foundation

@testable import DiskCache

extension CacheFixture {
    /// Overwrites the start of the body in a slot with other bytes.
    func spoil(_ slot: Slot) throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: namespace + "/bodies.slab"))
        try file.seek(toOffset: UInt64(slot.offset) + UInt64(SlabRecord.headLength))
        try file.write(contentsOf: Data("rotten".utf8))
        try file.close()
    }
}
