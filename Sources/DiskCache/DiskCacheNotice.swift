/// A notice for an operator: a fixed message, and metadata.
public struct DiskCacheNotice: Sendable {
    /// The severity of a notice.
    public enum Level: String, Sendable {
        /// Worth knowing.
        case info
        /// A fault that has been repaired.
        case warning
        /// A fault that persists.
        case error
    }

    /// The severity.
    public var level: Level
    /// The event. The same event always has the same message.
    public var message: String
    /// The objects and the reason of the event.
    public var metadata: [String: Value]

    /// A text or a number. A number stays a number in a JSON log.
    public enum Value: Hashable, Sendable, ExpressibleByStringInterpolation {
        /// A text.
        case text(String)
        /// A number.
        case number(Int)

        /// Makes a text.
        public init(stringLiteral text: String) { self = .text(text) }
    }

    /// Makes a notice.
    public init(_ level: Level, _ message: String, _ metadata: [String: Value] = [:]) {
        self.level = level
        self.message = message
        self.metadata = metadata
    }
}
