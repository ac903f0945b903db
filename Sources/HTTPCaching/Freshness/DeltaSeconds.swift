/// A number of seconds as Cache-Control and Age state it (RFC 9111 §1.2.2): digits and nothing else.
///
/// More than 2^31, and what no integer can hold, is taken for 2^31 seconds (68 years).
public enum DeltaSeconds {
    /// The largest value.
    public static let maximum = Duration.seconds(1 << 31)

    /// The value of one or more digits; `nil` for anything else: a sign, a fraction, white space, quotes.
    public static func parse(_ text: some StringProtocol) -> Duration? {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        let significant = text.utf8.drop { $0 == UInt8(ascii: "0") }
        guard significant.count <= 10 else { return maximum }
        let value = significant.reduce(into: Int64(0)) { $0 = $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        return min(.seconds(value), maximum)
    }
}
