import Foundation

extension UnsafeRawBufferPointer {
    /// Whether both have the same bytes. `elementsEqual` compares byte by byte, which a hit's target is too long for.
    public func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count, let start = baseAddress, let otherStart = other.baseAddress else {
            return count == other.count
        }
        return memcmp(start, otherStart, count) == 0
    }
}
