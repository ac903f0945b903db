extension FixedWidthInteger {
    /// Reads a number written only in ASCII digits, without sign or white space. `nil` for any other text, and for a
    /// number that does not fit.
    @inlinable
    public init?(digits text: some StringProtocol) {
        self.init(digits: text.utf8)
    }

    /// Reads a number from bytes, by the rules of ``init(digits:)``.
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
