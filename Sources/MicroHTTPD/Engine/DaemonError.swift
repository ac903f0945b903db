import Foundation

/// The reason why a daemon could not start.
package struct DaemonError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Step: Hashable, Sendable {
        /// The host's name had no usable address. ``DaemonError/code`` is a `getaddrinfo` code.
        case resolve
        /// The socket could not be made, bound or listened on. ``DaemonError/code`` is an `errno`.
        case listen
        /// The process could not get a thread or descriptor that a daemon needs, or libmicrohttpd refused to start.
        /// ``DaemonError/code`` is an `errno`, 0 when it is not known.
        case start
    }

    package let step: Step
    package let code: Int32
    /// The system's (or libmicrohttpd's) own words for the error.
    package let reason: String
    package var description: String { "\(step): \(reason) (\(code))" }
}

extension DaemonError {
    /// From the current value of `errno`.
    static func system(_ step: Step) -> DaemonError {
        let code = errno
        return DaemonError(step: step, code: code, reason: String(cString: strerror(code)))
    }
}
