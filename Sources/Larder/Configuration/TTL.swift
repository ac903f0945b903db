import Primitives

/// A time that a caller may say: not negative, not NaN, at most 100 years, kept to the millisecond.
public struct TTL: Hashable, Sendable {
    /// 100 years of 365.25 days.
    public static let maximumSeconds = 3_155_760_000

    /// The time it stands for.
    public let duration: Duration

    /// `nil` for what is negative, not a number, or more than ``maximumSeconds``. A positive value is at least a
    /// millisecond: it must not turn into 0, which means "not at all".
    public init?(seconds: Double) {
        guard seconds >= 0, seconds <= Double(Self.maximumSeconds) else { return nil }
        let milliseconds = Int64((seconds * 1000).rounded())
        duration = .milliseconds(seconds > 0 ? max(1, milliseconds) : 0)
    }

    /// As ``init(seconds:)``, from text such as a query parameter's value: seconds, or a number with a unit (`15m`);
    /// `nil` for what is neither.
    public init?(_ text: String) {
        guard let text = DurationText(text) else { return nil }
        self.init(seconds: text.seconds)
    }

    /// What a text must be, for the words of an error.
    public static let expectation =
        "seconds from 0 to \(maximumSeconds), or a number with a unit, such as \(DurationText.examples)"
}
