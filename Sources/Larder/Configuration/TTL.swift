import Primitives

/// A duration from a caller: not negative, not NaN, at most 100 years, with a precision of a millisecond.
package struct TTL: Hashable, Sendable {
    /// 100 years of 365.25 days.
    package static let maximumSeconds = 3_155_760_000

    /// The duration.
    package let duration: Duration

    /// `nil` when `seconds` is negative, not a number, or more than ``maximumSeconds``. A positive value becomes at
    /// least a millisecond, because 0 has a meaning of its own: "not at all".
    package init?(seconds: Double) {
        guard seconds >= 0, seconds <= Double(Self.maximumSeconds) else { return nil }
        let milliseconds = Int64((seconds * 1000).rounded())
        duration = .milliseconds(seconds > 0 ? max(1, milliseconds) : 0)
    }

    /// Reads a text, such as the value of a query parameter: seconds, or a number with a unit (`15m`). `nil` for any
    /// other text, and for the values that ``init(seconds:)`` refuses.
    package init?(_ text: String) {
        guard let text = DurationText(text) else { return nil }
        self.init(seconds: text.seconds)
    }

    /// The expected form of a text, for error messages.
    package static let expectation =
        "seconds from 0 to \(maximumSeconds), or a number with a unit, such as \(DurationText.examples)"
}
