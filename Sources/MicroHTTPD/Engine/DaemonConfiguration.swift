import Foundation
import Primitives

package struct DaemonConfiguration: Sendable {
    /// An IPv4 or IPv6 literal, or a name, of which the start uses the first address. `::` serves IPv4 too.
    package var host = "127.0.0.1"
    /// 0 takes any free port: read ``Daemon/port`` after the start.
    package var port: UInt16 = 0
    /// With TLS the daemon speaks only TLS 1.2 and 1.3, and closes the connection of a client of plain HTTP.
    package var tls: TLSCredentials?
    /// The number of serving threads. One per processor measured best.
    package var threads = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    /// The number of connections that may be served at once. A connection beyond it gets ``fullAnswer`` and is closed.
    /// Its socket lingers. When an eighth of the limit (at least one socket) lingers, new connections wait in the
    /// kernel's queue. `nil`: 16,384, or half of the process's descriptors if that is less.
    package var connectionLimit: Int?
    /// The answer to a client beyond the ``connectionLimit``. Its body must be in memory, and it should have a
    /// `Retry-After`. `nil`: no answer. Over TLS no answer is sent, because there was no handshake yet.
    package var fullAnswer: Response?
    /// A connection beyond the limit gets ``crowdAnswer`` and is closed. 0 is no limit.
    package var connectionLimitPerAddress = 0
    /// The answer to a client beyond the ``connectionLimitPerAddress``; otherwise like ``fullAnswer``.
    package var crowdAnswer: Response?
    /// Called for each connection that gets ``fullAnswer`` or ``crowdAnswer``, on the accepting thread: must not block.
    package var refused: @Sendable (ConnectionRefusal) -> Void = { _ in }
    /// The answer to a client that takes too long for the head of its first request or for a body, before the cut-off
    /// (RFC 9110 §15.5.9). Its body must be in memory. `nil`, and over TLS: no answer.
    package var lateAnswer: Response?

    /// The most bytes of all request bodies together that are collected in memory (``BodyPolicy/memory(limit:)``).
    package var bodyMemoryLimit = 256 << 20
    /// The most bytes of all answers' bodies together on their way to clients, except 8 KiB of each file and of each
    /// stream, and bodies that are in memory for other reasons, such as ``Response/Body/bytes(_:)``.
    package var answerMemoryLimit = 4 << 20
    /// The time for which a connection may be silent before it is closed: between requests, within a request, and
    /// within an answer to which ``minimumAnswerRate`` does not apply. Received or acknowledged bytes end a silence. A
    /// wait of a request for its answer, or of an answer for its body, does not count. Zero is no limit.
    package var inactivityTimeout = Duration.seconds(60)
    /// In bytes, for each connection: for the request's head with its bookkeeping, and for the answer's head.
    package var connectionMemory = 32 * 1024
    /// In bytes, with 64 for each field and cookie. A larger head is refused as ``RequestDefect/headTooLarge``.
    package var headLimit: Int { connectionMemory / 2 }
    /// In bytes. A longer target is refused as ``RequestDefect/targetTooLong``.
    package var targetLimit: Int { connectionMemory * 3 / 8 }
    /// The answer to a request that no handler sees, because its head exceeds three quarters of ``connectionMemory``,
    /// or its body has a wrong framing. The connection closes. The answer's body is in memory. `nil`: libmicrohttpd's
    /// page for a head, no answer for a body.
    package var refusal: @Sendable (RequestDefect) -> Response? = { _ in nil }
    /// The time for the whole head of a request, with the TLS handshake. A later request has the ``inactivityTimeout``
    /// plus this time. For a body, ``minimumBodyRate`` applies after this time. `nil` is no limit.
    package var requestDeadline: Duration? = .seconds(20)
    /// The average bytes per second of a request's body, once ``requestDeadline`` has passed since its head. A slower
    /// client is cut off. With 0 only the ``inactivityTimeout`` limits bodies.
    package var minimumBodyRate = 1024
    /// The average bytes per second, over ``answerPeriod``, at which a client must read an answer while bytes wait for
    /// it all the time. A slower client is cut off. With 0 only the ``inactivityTimeout`` limits answers.
    package var minimumAnswerRate = 1024
    /// The time over which ``minimumAnswerRate`` is averaged. Zero: only the ``inactivityTimeout`` limits answers.
    package var answerPeriod = Duration.seconds(60)
    /// The most bytes of an unwanted body to read, so that the client sees the answer. More bytes end the connection.
    package var discardLimit = 1 << 20
    /// Called, on any thread, with each line that libmicrohttpd logs (mostly errors of clients). When an invariant of
    /// libmicrohttpd is violated, it prints to standard error instead, and aborts the process.
    package var log: @Sendable (String) -> Void = { _ in }

    /// A copy of ``LayoutProbe/isLayoutKnown`` for every request. A test may set it.
    var isLayoutKnown = LayoutProbe.isLayoutKnown
    /// The clock of all deadlines, in milliseconds. A test may set its own.
    var now: @Sendable () -> Int64 = { MonotonicClock.milliseconds() }

    package init() {}

    var effectiveConnectionLimit: Int { max(1, connectionLimit ?? min(16_384, DescriptorLimit.current / 2)) }
    /// The number of sockets that may linger beside the served connections.
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
    /// Exact to a kernel tick (4 ms). A vDSO call that reads no hardware clock, so cheap enough for every request.
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
    /// The system's (or libmicrohttpd's) own words for the error.
    package let reason: String
    package var description: String { "\(step): \(reason) (\(code))" }

    /// From the current value of `errno`.
    static func system(_ step: Step) -> DaemonError {
        let code = errno
        return DaemonError(step: step, code: code, reason: String(cString: strerror(code)))
    }
}
