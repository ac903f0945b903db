import Logging
import Primitives

extension Logger.MetadataValue {
    /// A number that stays a number in a JSON line of the log. Interpolated text, `"\(count)"`, becomes a JSON string
    /// there.
    package static func number(_ value: some BinaryInteger & Sendable) -> Self { .stringConvertible(value) }

    /// A number of seconds; see ``number(_:)``. The number is rounded to microseconds, which is the precision of the
    /// clock. This avoids digits such as 0.0011692290000000001 in the log.
    package static func seconds(_ duration: Duration) -> Self {
        .stringConvertible((duration.inSeconds * 1e6).rounded() / 1e6)
    }
}
