import Primitives

/// A number of seconds that a caller may say: not negative, not NaN, at most 100 years, kept to the millisecond.
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

    /// As ``init(seconds:)``, from text such as a query parameter's value; `nil` for what is no decimal number.
    public init?(_ text: String) {
        // `Double` also reads "nan", "inf" and hexadecimal.
        guard text.utf8.allSatisfy({ ($0 >= 0x30 && $0 <= 0x39) || "+-.eE".utf8.contains($0) }),
            let seconds = Double(text)
        else { return nil }
        self.init(seconds: seconds)
    }
}
