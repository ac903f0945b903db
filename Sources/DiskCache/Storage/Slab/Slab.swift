import Foundation
import Primitives

/// The sparse file `bodies.slab` of small bodies, each in a ``Slot`` with a ``SlabRecord`` that names the entry; empty
/// extents have no blocks. A slot is written before its row is committed, and only while no committed row names it.
/// Each read compares the bytes with the digest, because the slot may have been reused since the row was read.
final class Slab: Sendable {
    /// A ``BodyFile`` so that ``FileSync`` can sync it.
    let file: BodyFile
    let path: String
    private let descriptor: FileDescriptor

    init(path: String) throws(DiskCacheError) {
        self.path = path
        descriptor = try FileDescriptor(opening: path, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        file = BodyFile(descriptor, length: 0, path: path)
    }

    /// Reads the body of an entry and checks its digest. `agrees`: the ``SlabRecord`` in the slot agrees with the
    /// entry. `nil`: the slot holds only a part of the body, or another body. ``Lookup/onDisk`` only without `mayWait`.
    func body(
        of entry: Entry, in slot: Slot, mayWait: Bool
    ) throws(DiskCacheError) -> Lookup<(bytes: SharedBytes, agrees: Bool)?> {
        // The length comes from the index, and a damaged index may state any number.
        let headLength = SlabRecord.headLength
        guard let length = Int(exactly: entry.contentLength), 0...slot.slotClass.size - headLength ~= length
        else { return .found(nil) }
        let frame = UnsafeMutableRawBufferPointer.allocate(byteCount: slot.slotClass.size - length, alignment: 16)
        defer { frame.deallocate() }
        let head = UnsafeMutableRawBufferPointer(rebasing: frame[..<headLength])
        let tail = UnsafeMutableRawBufferPointer(rebasing: frame[headLength...])
        var (count, code) = (0, Int32(0))
        let bytes = SharedBytes(count: length) { body in
            count = read([head, body, tail], at: slot.offset, mayWait: mayWait)
            if count < 0 { code = errno }
        }
        // The file may end inside its last slot, so a read may return fewer bytes than the slot has.
        guard count >= headLength + length else {
            if !mayWait { return .onDisk }
            let error = DiskCacheError.fileSystem(operation: "read", path: path, errno: code)
            if count < 0, !error.isMissingFile { throw error }
            return .found(nil)
        }
        guard digest(of: bytes) == entry.digest else { return .found(nil) }
        let view = SlabRecordView(
            head: UnsafeRawBufferPointer(head),
            tail: UnsafeRawBufferPointer(rebasing: tail[..<(count - headLength - length)]))
        return .found((bytes, view?.agrees(with: entry) == true))
    }

    func body(of entry: Entry, in slot: Slot) throws(DiskCacheError) -> SharedBytes? {
        guard case .found(let body) = try body(of: entry, in: slot, mayWait: true) else { return nil }
        return body?.bytes
    }

    /// Reads a slot, without `mayWait` only bytes that are in memory. `count`: the bytes read. `nil`: none were read.
    func content(of slot: Slot, mayWait: Bool) -> (bytes: SharedBytes, count: Int)? {
        var count = 0
        let bytes = SharedBytes(count: slot.slotClass.size) { target in
            count =
                mayWait
                ? (try? descriptor.read(into: target, at: slot.offset, path: path)) ?? 0
                : CachedFile.read(descriptor.number, into: target, at: slot.offset)
        }
        return count > 0 ? (bytes, count) : nil
    }

    private func read(_ targets: [UnsafeMutableRawBufferPointer], at offset: Int64, mayWait: Bool) -> Int {
        if !mayWait { return CachedFile.read(descriptor.number, into: targets, at: offset) }
        var vectors = targets.map { iovec(iov_base: $0.baseAddress, iov_len: $0.count) }
        return retryingInterrupts { preadv(descriptor.number, &vectors, Int32(vectors.count), off_t(offset)) }
    }

    func content(of slot: Slot) throws(DiskCacheError) -> SharedBytes {
        try SharedBytes(count: slot.slotClass.size) { target throws(DiskCacheError) in
            let count = try descriptor.read(into: target, at: slot.offset, path: path)
            // Bytes behind the end of the file read as zeros, like a hole.
            UnsafeMutableRawBufferPointer(rebasing: target[count...]).initializeMemory(as: UInt8.self, repeating: 0)
        }
    }

    func write(_ record: SlabRecord, _ body: SharedBytes, in slot: Slot) throws(DiskCacheError) {
        let length = record.bytes.count + body.count
        precondition(length <= slot.slotClass.size, "a record is longer than its slot")
        let written = record.bytes.withUnsafeBytes { record in
            body.withUnsafeBytes { body in
                let head = UnsafeRawBufferPointer(rebasing: record[..<SlabRecord.headLength])
                let texts = UnsafeRawBufferPointer(rebasing: record[SlabRecord.headLength...])
                return write([head, body, texts], at: slot.offset)
            }
        }
        try check(written, length)
    }

    /// Writes the bytes that ``content(of:)`` read from another slot of the same size.
    func write(_ content: SharedBytes, in slot: Slot) throws(DiskCacheError) {
        try check(content.withUnsafeBytes { write([$0], at: slot.offset) }, content.count)
    }

    private func write(_ pieces: [UnsafeRawBufferPointer], at offset: Int64) -> Int {
        var vectors = pieces.map {
            iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count)
        }
        return retryingInterrupts { pwritev(descriptor.number, &vectors, Int32(vectors.count), off_t(offset)) }
    }

    private func check(_ written: Int, _ length: Int) throws(DiskCacheError) {
        guard written == length else { throw .system("write", path, written < 0 ? errno : ENOSPC) }
    }

    /// Cuts the file at `end`, because no row names a slot behind it. Call this before the first read.
    func cut(at end: Int64) {
        if let length = descriptor.status()?.identity.size, length > end { ftruncate(descriptor.number, off_t(end)) }
    }

    /// Gives the blocks of a range back, if the file system can do that. The range then reads as zeros.
    func erase(_ range: Range<Int64>) { FileHole.make(in: descriptor.number, range) }
}

/// The size of a slot. Eight sizes for each doubling, from 256 bytes on, let a body waste at most a ninth of its slot.
struct SlotClass: Hashable, Sendable {
    /// The smallest size has the number 0.
    let number: Int

    /// The class takes seven bits of ``Slot/code``.
    static let count = 1 << 7
    /// Each size is a multiple of these bytes.
    static let unit = 1 << unitBits
    private static let unitBits = 5
    private static let stepBits = 3

    init?(number: Int) {
        guard 0..<Self.count ~= number else { return nil }
        self.number = number
    }

    init(holding length: Int) {
        let length = max(length, Self.unit << Self.stepBits)
        let bits = Int.bitWidth - 1 - length.leadingZeroBitCount - Self.stepBits
        let steps = (length + (1 << bits) - 1) >> bits
        number = (bits - Self.unitBits) << Self.stepBits + steps - 1 << Self.stepBits
    }

    var slotsPerExtent: Int { Slot.extentBytes / size }
    var size: Int {
        let steps = 1 << Self.stepBits
        return (steps + number & (steps - 1)) << (number >> Self.stepBits + Self.unitBits)
    }
}

/// A place in the slab: one of the equal parts of an extent.
package struct Slot: Hashable, Sendable {
    let extent: Int
    let index: Int
    let slotClass: SlotClass

    /// The length of an extent: the longest body that goes into the slab, 1 MiB, fits with its ``SlabRecord``.
    static let extentBytes = 2 << 20

    /// The slot in the index: the offset in units of ``SlotClass/unit``, and the class in the lowest seven bits.
    var code: Int64 { offset / Int64(SlotClass.unit) * Int64(SlotClass.count) + Int64(slotClass.number) }
    var offset: Int64 { Int64(extent) * Int64(Self.extentBytes) + Int64(index * slotClass.size) }
}

extension Slot {
    init?(code: Int64) {
        guard code >= 0, let slotClass = SlotClass(number: Int(code) % SlotClass.count) else { return nil }
        let offset = Int(code) / SlotClass.count * SlotClass.unit
        let (extent, rest) = offset.quotientAndRemainder(dividingBy: Self.extentBytes)
        guard rest % slotClass.size == 0, rest + slotClass.size <= Self.extentBytes else { return nil }
        self.init(extent: extent, index: rest / slotClass.size, slotClass: slotClass)
    }
}
