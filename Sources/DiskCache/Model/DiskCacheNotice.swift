/// A notice for an operator: a fixed message, and metadata.
package struct DiskCacheNotice: Sendable {
    package enum Level: String, Sendable {
        /// Worth knowing.
        case info
        /// A fault that has been repaired.
        case warning
        /// A fault that persists.
        case error
    }

    package var level: Level
    /// The event. The same event always has the same message.
    package var message: String
    /// The objects and the reason of the event.
    package var metadata: [String: Value]

    /// A text or a number. A number stays a number in a JSON log.
    package enum Value: Hashable, Sendable, ExpressibleByStringInterpolation {
        case text(String)
        case number(Int)

        package init(stringLiteral text: String) { self = .text(text) }
    }

    package init(_ level: Level, _ message: String, _ metadata: [String: Value] = [:]) {
        self.level = level
        self.message = message
        self.metadata = metadata
    }
}
