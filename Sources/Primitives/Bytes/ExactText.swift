import Glibc

/// A text that equals another text only when their UTF-8 bytes are equal. For `String`, `é` equals `e` with a combining
/// accent. JSON, the index and the file system distinguish these texts, so a look-up must distinguish them, too.
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

extension FixedWidthInteger {
    /// Reads a number written only in ASCII digits, without sign or white space. `nil` if the number does not fit.
    @inlinable
    public init?(digits text: some StringProtocol) {
        self.init(digits: text.utf8)
    }

    @inlinable
    public init?(digits: some Collection<UInt8>) {
        guard !digits.isEmpty else { return nil }
        self = 0
        for digit in digits {
            guard digit >= 0x30, digit <= 0x39 else { return nil }
            let (product, overflow) = multipliedReportingOverflow(by: 10)
            let (sum, overflow2) = product.addingReportingOverflow(Self(truncatingIfNeeded: digit - 0x30))
            guard !overflow, !overflow2 else { return nil }
            self = sum
        }
    }
}

extension StringProtocol where SubSequence == Substring {
    /// Removes SP and HTAB from both ends (RFC 9110 §5.6.3).
    package func trimmingSpace() -> Substring {
        trimming { $0 == " " || $0 == "\t" }
    }
}

extension BidirectionalCollection {
    /// Removes the matching elements from both ends.
    @inlinable
    public func trimming(while predicate: (Element) -> Bool) -> SubSequence {
        let start = firstIndex { !predicate($0) } ?? endIndex
        return self[start..<(lastIndex { !predicate($0) }.map(index(after:)) ?? start)]
    }
}

// The classes of bytes in the grammars of HTTP and of URLs, and bytes in hexadecimal.

extension UInt8 {
    @inlinable public static var carriageReturn: UInt8 { 0x0d }
    @inlinable public static var lineFeed: UInt8 { 0x0a }
    @inlinable public var isDigit: Bool { self >= 0x30 && self <= 0x39 }
    @inlinable public var isAlphanumeric: Bool { isDigit || (self | 0x20 >= 0x61 && self | 0x20 <= 0x7a) }

    /// Whether the byte never needs an escape in a URL (RFC 3986 §2.3).
    @inlinable public var isUnreserved: Bool {
        isAlphanumeric || self == 0x2d || self == 0x2e || self == 0x5f || self == 0x7e
    }

    /// Whether the byte may be in a token, such as a field's name (RFC 9110 §5.6.2).
    @inlinable
    public var isTokenCharacter: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        case 0x21, 0x23...0x27, 0x2a, 0x2b, 0x2d, 0x2e, 0x5e, 0x5f, 0x60, 0x7c, 0x7e: true
        default: false
        }
    }

    /// Whether the byte may be in a field's value (RFC 9110 §5.5): visible ASCII, space, tab and bytes from 0x80 on.
    @inlinable public var isFieldContent: Bool { self == 0x09 || (self >= 0x20 && self != 0x7f) }
    /// Space or tab, the optional white space of a field (RFC 9110 §5.6.3).
    @inlinable public var isFieldSpace: Bool { self == 0x20 || self == 0x09 }

    /// The value of a hexadecimal digit in either case; `nil` for any other byte.
    @inlinable public var hexDigitValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The lower-case hexadecimal digit for 0 to 15.
    var hexDigit: UInt8 { self < 10 ? UInt8(ascii: "0") + self : UInt8(ascii: "a") + self - 10 }
}

extension Sequence<UInt8> {
    /// The bytes in lower-case hexadecimal, two digits each.
    @inlinable public var hex: String {
        withContiguousStorageIfAvailable { UnsafeRawBufferPointer($0).lowercaseHex }
            ?? Array(self).withUnsafeBytes(\.lowercaseHex)
    }
}

extension [UInt8] {
    /// Reads hexadecimal, two digits for each byte, in either case; `nil` for any other text.
    package init?(hex text: String) {
        let digits = text.utf8.map(\.hexDigitValue)
        guard digits.count.isMultiple(of: 2), !digits.contains(nil) else { return nil }
        self = stride(from: 0, to: digits.count, by: 2).map { digits[$0]! << 4 | digits[$0 + 1]! }
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes in lower-case hexadecimal, written into a single allocation, because every digest passes through here.
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

/// The percent-escapes of URLs (RFC 3986 §2.1).
@usableFromInline package enum PercentEscape {
    private static let hexDigits = Array("0123456789ABCDEF".utf8)

    @usableFromInline
    package static func append(_ byte: UInt8, to output: inout [UInt8]) {
        output.append(contentsOf: [UInt8(ascii: "%"), hexDigits[Int(byte >> 4)], hexDigits[Int(byte & 15)]])
    }

    /// Returns a text with an escape for each byte that is not `plain`.
    @inlinable
    package static func text(of bytes: some Sequence<UInt8>, plain: (UInt8) -> Bool) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.underestimatedCount)
        for byte in bytes {
            if plain(byte) { output.append(byte) } else { append(byte, to: &output) }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Decodes all escapes; `nil` if an escape is broken.
    @inlinable
    package static func decode(_ bytes: some Sequence<UInt8>) -> [UInt8]? {
        var output: [UInt8] = []
        var bytes = bytes.makeIterator()
        while let byte = bytes.next() {
            if byte == UInt8(ascii: "%") {
                guard let high = bytes.next()?.hexDigitValue, let low = bytes.next()?.hexDigitValue else { return nil }
                output.append(high << 4 | low)
            } else {
                output.append(byte)
            }
        }
        return output
    }
}
