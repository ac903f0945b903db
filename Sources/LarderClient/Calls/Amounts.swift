import Primitives

/// Numbers of an answer, which may be that of a server which is broken, or means ill: what is read here can be
/// calculated with, whatever was written there.
extension JSON {
    /// How many; `nil` for what is no whole number, does not fit, or is negative.
    public var countValue: Int64? { integerValue.flatMap { $0 < 0 ? nil : $0 } }

    /// How long, in seconds, cut as `Duration.clamping(seconds:)` does it; `nil` for what is no number.
    public var durationValue: Duration? { doubleValue.map { .clamping(seconds: $0) } }
}

extension Int64 {
    /// The sum of two counts; the largest number when it does not fit.
    public func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
