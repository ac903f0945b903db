import Foundation

extension UnsafeRawBufferPointer {
    /// Whether both buffers have the same bytes. `elementsEqual` compares byte by byte, which is too slow for the
    /// target of a hit.
    public func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count, let start = baseAddress, let otherStart = other.baseAddress else {
            return count == other.count
        }
        return memcmp(start, otherStart, count) == 0
    }
}
