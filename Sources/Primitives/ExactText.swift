/// A text that is equal to another only when their UTF-8 bytes are.
///
/// `String` compares by canonical equivalence: `é` as one scalar equals `e` with a combining accent. In JSON, in the
/// index and in the file system these are two, so nothing may find the one under the other.
public struct ExactText: Hashable, Sendable {
    /// The text.
    public let text: String

    /// A text to be compared by its bytes.
    @inlinable
    public init(_ text: String) {
        self.text = text
    }

    /// Whether the bytes are the same.
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

    /// Hashes the bytes.
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
