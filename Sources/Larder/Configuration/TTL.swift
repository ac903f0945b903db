import Primitives

/// A duration from a caller: not negative, not NaN, at most 100 years, with a precision of a millisecond.
package struct TTL: Hashable, Sendable {
    /// 100 years of 365.25 days.
    package static let maximumSeconds = 3_155_760_000

    package let duration: Duration

    /// `nil` when `seconds` is out of bounds or NaN. A positive value becomes at least a millisecond, because 0 has a
    /// meaning of its own: "not at all".
    package init?(seconds: Double) {
        guard seconds >= 0, seconds <= Double(Self.maximumSeconds) else { return nil }
        let milliseconds = Int64((seconds * 1000).rounded())
        duration = .milliseconds(seconds > 0 ? max(1, milliseconds) : 0)
    }

    /// Reads seconds, or a number with a unit (`15m`), such as the value of a query parameter.
    package init?(_ text: String) {
        guard let text = DurationText(text) else { return nil }
        self.init(seconds: text.seconds)
    }

    package static let expectation =
        "seconds from 0 to \(maximumSeconds), or a number with a unit, such as \(DurationText.examples)"
}
