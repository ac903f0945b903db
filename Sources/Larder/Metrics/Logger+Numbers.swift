import Logging
import Primitives

extension Logger.MetadataValue {
    /// Stays a number in a JSON line of the log. Interpolated text, `"\(count)"`, becomes a JSON string there.
    package static func number(_ value: some BinaryInteger & Sendable) -> Self { .stringConvertible(value) }

    /// Rounded to microseconds, the precision of the clock, to avoid digits such as 0.0011692290000000001.
    package static func seconds(_ duration: Duration) -> Self {
        .stringConvertible((duration.inSeconds * 1e6).rounded() / 1e6)
    }
}
