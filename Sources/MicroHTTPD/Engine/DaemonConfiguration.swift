import Foundation
import Primitives

package struct DaemonConfiguration: Sendable {
    /// An IPv4 or IPv6 address, or a host name. The daemon listens on the name's first address. `::` serves IPv4, too.
    package var host = "127.0.0.1"
    /// 0 takes any free port: read ``Daemon/port`` after the start.
    package var port: UInt16 = 0
    /// With TLS the daemon speaks only TLS 1.2 and 1.3, and closes the connection of a client of plain HTTP.
    package var tls: TLSCredentials?
    /// The number of serving threads. One thread per processor was the fastest.
    package var threads = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    /// The number of connections that may be served at once. A further connection gets ``fullAnswer`` and is closed,
    /// and its socket lingers. When an eighth of the limit (at least one socket) lingers, new connections wait in the
    /// kernel's queue. `nil`: 16,384, or half of the process's descriptors if that is less.
    package var connectionLimit: Int?
    /// The answer to a client beyond the ``connectionLimit``. Its body must be in memory, and it should have a
    /// `Retry-After`. `nil`: no answer. With TLS, no answer is sent, because the TLS handshake has not begun.
    package var fullAnswer: Response?
    /// The connections of one address. A further connection gets ``crowdAnswer`` and is closed. 0 is no limit.
    package var connectionLimitPerAddress = 0
    /// The answer to a client beyond the ``connectionLimitPerAddress``, under the same rules as ``fullAnswer``.
    package var crowdAnswer: Response?
    /// Called on the accepting thread for each connection beyond one of the two limits: must not block.
    package var refused: @Sendable (ConnectionRefusal) -> Void = { _ in }
    /// The answer to a client that is cut off because it takes too long for the head of its first request or for a body
    /// (RFC 9110 §15.5.9). Its body must be in memory. `nil`, and with TLS: no answer.
    package var lateAnswer: Response?

    /// The most bytes of all request bodies together that are collected in memory (``BodyPolicy/memory(limit:)``).
    package var bodyMemoryLimit = 256 << 20
    /// The most bytes of all answers' bodies together on their way to clients. Not counted: 8 KiB of each file and of
    /// each stream, and bodies that are in memory for other reasons, such as ``Response/Body/bytes(_:)``.
    package var answerMemoryLimit = 4 << 20
    /// The time for which a connection may be silent before it is closed: between requests, within a request, and
    /// within an answer to which ``minimumAnswerRate`` does not apply. Received or acknowledged bytes end a silence.
    /// While a request waits for its answer, or an answer for its body, the time does not count. Zero is no limit.
    package var inactivityTimeout = Duration.seconds(60)
    /// In bytes, for each connection: for a request's head and libmicrohttpd's records, and for the answer's head.
    package var connectionMemory = 32 * 1024
    /// In bytes. Each field and cookie counts as 64 more. A larger head is refused as ``RequestDefect/headTooLarge``.
    package var headLimit: Int { connectionMemory / 2 }
    /// In bytes. A longer target is refused as ``RequestDefect/targetTooLong``.
    package var targetLimit: Int { connectionMemory * 3 / 8 }
    /// The answer to a request that no handler sees, because its head exceeds three quarters of ``connectionMemory``,
    /// or its body has a wrong framing. The connection closes after the answer. The answer's body must be in memory.
    /// `nil`: a wrong head gets libmicrohttpd's own page, and a wrong body no answer.
    package var refusal: @Sendable (RequestDefect) -> Response? = { _ in nil }
    /// The time for the head of the first request, including the TLS handshake. A later head has this time plus the
    /// ``inactivityTimeout``. Once a body has taken this time, ``minimumBodyRate`` applies. `nil` is no limit.
    package var requestDeadline: Duration? = .seconds(20)
    /// In bytes per second: a client that sends a body more slowly on average is cut off, once ``requestDeadline`` has
    /// passed since the head. With 0 only the ``inactivityTimeout`` limits bodies.
    package var minimumBodyRate = 1024
    /// In bytes per second: a client that reads an answer more slowly, on average over ``answerPeriod`` and while bytes
    /// always wait for the client, is cut off. With 0 only the ``inactivityTimeout`` limits answers.
    package var minimumAnswerRate = 1024
    /// The time over which ``minimumAnswerRate`` is averaged. Zero: only the ``inactivityTimeout`` limits answers.
    package var answerPeriod = Duration.seconds(60)
    /// The most bytes of an unwanted body to read, so that the client reads the answer. Beyond, the connection closes.
    package var discardLimit = 1 << 20
    /// Called, on any thread, with each line that libmicrohttpd logs (mostly errors of clients). libmicrohttpd prints a
    /// violated invariant to standard error instead, and aborts the process.
    package var log: @Sendable (String) -> Void = { _ in }

    /// The value of ``LayoutProbe/isLayoutKnown``, which a test may change.
    var isLayoutKnown = LayoutProbe.isLayoutKnown
    /// The clock of all deadlines, in milliseconds. A test may set its own.
    var now: @Sendable () -> Int64 = { MonotonicClock.milliseconds() }

    package init() {}

    var effectiveConnectionLimit: Int { max(1, connectionLimit ?? min(16_384, DescriptorLimit.current / 2)) }
    /// The number of sockets that may linger in addition to the served connections.
    var lingeringLimit: Int { max(1, effectiveConnectionLimit / 8) }
}

/// The limit that a connection exceeded, so that the daemon refused it.
package enum ConnectionRefusal: String, Sendable, CaseIterable {
    /// There are ``DaemonConfiguration/connectionLimit`` connections already.
    case limit
    /// The client's address has ``DaemonConfiguration/connectionLimitPerAddress`` connections already.
    case address
}

enum MonotonicClock {
    /// Exact to a kernel tick (4 ms). The vDSO call reads no hardware clock, so it is cheap enough for every request.
    static func milliseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}

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
    /// The system's or libmicrohttpd's description of the error.
    package let reason: String
    package var description: String { "\(step): \(reason) (\(code))" }

    /// From the current value of `errno`.
    static func system(_ step: Step) -> DaemonError {
        let code = errno
        return DaemonError(step: step, code: code, reason: String(cString: strerror(code)))
    }
}
