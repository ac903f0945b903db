/// Digits only (RFC 9111 §1.2.2). A number above 2^31, however long, counts as 2^31 seconds (68 years).
package enum DeltaSeconds {
    package static let maximum = Duration.seconds(1 << 31)

    /// `nil` for any text but digits, such as a sign, a fraction, white space or quotes.
    package static func parse(_ text: some StringProtocol) -> Duration? {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        let significant = text.utf8.drop { $0 == UInt8(ascii: "0") }
        guard significant.count <= 10 else { return maximum }
        let value = significant.reduce(into: Int64(0)) { $0 = $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        return min(.seconds(value), maximum)
    }
}
