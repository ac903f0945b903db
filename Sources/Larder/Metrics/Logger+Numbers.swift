import Logging
import Primitives

extension Logger.MetadataValue {
    /// A number that stays one in a JSON line of the log. An interpolated text, `"\(count)"`, is a JSON string there.
    public static func number(_ value: some BinaryInteger & Sendable) -> Self { .stringConvertible(value) }

    /// Seconds, as a number; see ``number(_:)``. They are rounded to the microsecond, which is all that a clock tells,
    /// and spares a line digits such as those of 0.0011692290000000001.
    public static func seconds(_ duration: Duration) -> Self {
        .stringConvertible((duration.inSeconds * 1e6).rounded() / 1e6)
    }
}
