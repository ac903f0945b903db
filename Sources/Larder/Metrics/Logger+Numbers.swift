import Logging
import Primitives

extension Logger.MetadataValue {
    /// A number that stays one in a JSON line of the log. An interpolated text, `"\(count)"`, is a JSON string there.
    public static func number(_ value: some BinaryInteger & Sendable) -> Self { .stringConvertible(value) }

    /// Seconds, as a number; see ``number(_:)``.
    public static func seconds(_ duration: Duration) -> Self { .stringConvertible(duration.inSeconds) }
}
