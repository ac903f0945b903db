import Primitives

/// The server may be broken or hostile, so every number returned here is safe to calculate with.
extension JSON {
    /// `nil` when the value is no whole number, does not fit into an `Int64`, or is negative.
    package var countValue: Int64? { integerValue.flatMap { $0 < 0 ? nil : $0 } }

    /// In seconds, limited as by `Duration.clamping(seconds:)`; `nil` when the value is no number.
    package var durationValue: Duration? { doubleValue.map { .clamping(seconds: $0) } }
}

extension Int64 {
    /// `Int64.max` when the sum does not fit.
    package func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
