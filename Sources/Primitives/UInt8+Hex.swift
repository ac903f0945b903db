extension UInt8 {
    /// What this byte stands for as a hexadecimal digit in ASCII, of either case; `nil` for any other byte.
    public var hexDigitValue: UInt8? {
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
        var text: [UInt8] = []
        // Most of what is written so is a digest.
        text.reserveCapacity(64)
        for byte in self {
            text.append((byte >> 4).hexDigit)
            text.append((byte & 15).hexDigit)
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension UInt8 {
    /// The lower-case hexadecimal digit for 0 to 15, in ASCII.
    @inlinable var hexDigit: UInt8 {
        self < 10 ? UInt8(ascii: "0") + self : UInt8(ascii: "a") + self - 10
    }
}
