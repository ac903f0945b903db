/// A message to an operator.
package struct DiskCacheNotice: Sendable {
    package enum Level: String, Sendable {
        case info
        /// A repaired fault.
        case warning
        /// A fault that persists.
        case error
    }

    package var level: Level
    /// The same event always has the same message.
    package var message: String
    package var metadata: [String: Value]

    /// A number stays a number in a JSON log.
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
