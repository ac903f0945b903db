extension UInt8 {
    /// The value of this byte as a hexadecimal digit in ASCII, in upper or lower case; `nil` for any other byte.
    @inlinable public var hexDigitValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension Sequence<UInt8> {
    /// The bytes in lower-case hexadecimal, two digits each.
    @inlinable public var hex: String {
        withContiguousStorageIfAvailable { UnsafeRawBufferPointer($0).lowercaseHex }
            ?? Array(self).withUnsafeBytes(\.lowercaseHex)
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes in lower-case hexadecimal. Writes into a single allocation, because every digest passes through here.
    @usableFromInline package var lowercaseHex: String {
        String(unsafeUninitializedCapacity: 2 * count) { text in
            for index in 0..<count {
                text[2 * index] = (self[index] >> 4).hexDigit
                text[2 * index + 1] = (self[index] & 15).hexDigit
            }
            return 2 * count
        }
    }
}

extension UInt8 {
    /// The lower-case hexadecimal digit for 0 to 15, in ASCII.
    var hexDigit: UInt8 {
        self < 10 ? UInt8(ascii: "0") + self : UInt8(ascii: "a") + self - 10
    }
}
