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
