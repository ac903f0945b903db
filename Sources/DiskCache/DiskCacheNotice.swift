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
    public var metadata: [String: String]

    /// A notice.
    public init(_ level: Level, _ message: String, _ metadata: [String: String] = [:]) {
        self.level = level
        self.message = message
        self.metadata = metadata
    }
}
