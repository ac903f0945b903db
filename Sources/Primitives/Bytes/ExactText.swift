import Glibc

/// A text that equals another only when their UTF-8 bytes are equal. For `String`, `é` equals `e` with a
/// combining accent. JSON, the index and the file system tell them apart, so a look-up must do so, too.
public struct ExactText: Hashable, Sendable {
    public let text: String

    @inlinable
    public init(_ text: String) {
        self.text = text
    }

    @inlinable
    public static func == (left: ExactText, right: ExactText) -> Bool {
        let areEqual = left.text.utf8.withContiguousStorageIfAvailable { left in
            right.text.utf8.withContiguousStorageIfAvailable { right in
                UnsafeRawBufferPointer(left).hasSameBytes(as: UnsafeRawBufferPointer(right))
            }
        }
        if let areEqual, let areEqual { return areEqual }
        return left.text.utf8.elementsEqual(right.text.utf8)
    }

    @inlinable
    public func hash(into hasher: inout Hasher) {
        let isContiguous: Void? = text.utf8.withContiguousStorageIfAvailable { bytes in
            hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
        }
        if isContiguous == nil {
            for byte in text.utf8 { hasher.combine(byte) }
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Uses `memcmp`, because `elementsEqual` compares byte by byte, too slowly for the request target of each hit.
    public func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count, let start = baseAddress, let otherStart = other.baseAddress else {
            return count == other.count
        }
        return memcmp(start, otherStart, count) == 0
    }
}
