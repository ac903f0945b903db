/// The parsed head of a request. Its ranges are positions in the bytes behind it: the target, its authority, the
/// method, the version, and then the field lines, each as the two 32-bit lengths of its name and value, and both.
struct RequestHead {
    var target = 0..<0
    var path = 0..<0
    /// Empty if the target is not in absolute form.
    var authority = 0..<0
    var method = 0..<0
    var version = 0..<0
    var lines = 0..<0
    var fieldCount = 0
    var isHead = false
    let check: HeadCheck
    let remoteAddress: RemoteAddress

    init(check: HeadCheck, remoteAddress: RemoteAddress) {
        self.check = check
        self.remoteAddress = remoteAddress
    }
}

/// Never writes beyond the bytes: a line that does not fit is left out.
struct HeadWriter {
    let bytes: UnsafeMutableRawBufferPointer
    var count = 0

    mutating func append(_ source: UnsafeRawBufferPointer) -> Range<Int> {
        let range = count..<count + source.count
        UnsafeMutableRawBufferPointer(rebasing: bytes[range]).copyMemory(from: source)
        count = range.endIndex
        return range
    }

    /// Returns false, without effect, if the line does not fit.
    mutating func append(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) -> Bool {
        guard count + 8 + name.count + value.count <= bytes.count else { return false }
        bytes.storeBytes(of: UInt32(truncatingIfNeeded: name.count), toByteOffset: count, as: UInt32.self)
        bytes.storeBytes(of: UInt32(truncatingIfNeeded: value.count), toByteOffset: count + 4, as: UInt32.self)
        count += 8
        _ = append(name)
        _ = append(value)
        return true
    }
}

/// Reads back the field lines that ``HeadWriter`` wrote.
struct FieldLines {
    var rest: UnsafeRawBufferPointer

    mutating func next() -> RawField? {
        guard rest.count >= 8 else { return nil }
        let nameLength = Int(rest.loadUnaligned(as: UInt32.self))
        let valueLength = Int(rest.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        let end = 8 + nameLength + valueLength
        defer { rest = UnsafeRawBufferPointer(rebasing: rest[end...]) }
        return RawField(
            name: UnsafeRawBufferPointer(rebasing: rest[8..<8 + nameLength]),
            value: UnsafeRawBufferPointer(rebasing: rest[8 + nameLength..<end]))
    }
}
