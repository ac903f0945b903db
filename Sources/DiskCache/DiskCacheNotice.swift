/// Something an operator should know: a fixed message, and what it is about.
public struct DiskCacheNotice: Sendable {
    /// How bad it is.
    public enum Level: String, Sendable {
        /// Worth knowing.
        case info
        /// Something was wrong and is mended.
        case warning
        /// Something is wrong.
        case error
    }

    /// How bad it is.
    public var level: Level
    /// What happened; always the same words for the same thing.
    public var message: String
    /// To what, and why.
    public var metadata: [String: Value]

    /// A text, or a number that stays one in a log of JSON.
    public enum Value: Hashable, Sendable, ExpressibleByStringInterpolation {
        /// A text.
        case text(String)
        /// A number.
        case number(Int)

        /// A text.
        public init(stringLiteral text: String) { self = .text(text) }
    }

    /// A notice.
    public init(_ level: Level, _ message: String, _ metadata: [String: Value] = [:]) {
        self.level = level
        self.message = message
        self.metadata = metadata
    }
}
