import Foundation
import Primitives

/// The address and the limits of a daemon.
package struct DaemonConfiguration: Sendable {
    /// The address to listen on: an IPv4 or IPv6 literal, or a name. A name is resolved when the daemon starts, and the
    /// first of its addresses is used. `::` serves IPv4 too. Default `127.0.0.1`.
    package var host = "127.0.0.1"

    /// The TCP port. 0, the default, takes any free port: read ``Daemon/port`` after the start.
    package var port: UInt16 = 0

    /// The credentials for TLS. With credentials the daemon speaks only TLS 1.2 and 1.3, and closes the connection of a
    /// client of plain HTTP. `nil`, the default: no TLS.
    package var tls: TLSCredentials?

    /// The number of threads that serve connections. Default: one per processor, which measured best.
    package var threads = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// The number of connections that may be served at once. A connection beyond the limit gets ``fullAnswer`` and is
    /// closed. Its socket lingers for a while, in a reserve of an eighth of the limit (at least one place). If the
    /// reserve is full, too, new connections wait in the kernel's queue until older connections close.
    ///
    /// `nil`, the default: 16,384, or half of the process's descriptors if that is less. An explicit number is used
    /// without a check against the descriptors, because its author knows about the other files and connections of the
    /// process.
    package var connectionLimit: Int?

    /// The answer to a client beyond the ``connectionLimit``. Its body must be in memory, and it should have a
    /// `Retry-After`. `nil`, the default: no answer. Over TLS no answer is sent, because there was no handshake yet.
    package var fullAnswer: Response?

    /// The number of connections that one client address may have at once. A connection beyond it gets ``crowdAnswer``
    /// and is closed. 0, the default, is no limit.
    package var connectionLimitPerAddress = 0

    /// The answer to a client beyond the ``connectionLimitPerAddress``. Its body must be in memory. `nil`, the default:
    /// no answer. Over TLS no answer is sent, because there was no handshake yet.
    package var crowdAnswer: Response?

    /// Called for each connection that gets ``fullAnswer`` or ``crowdAnswer``. The accepting thread calls it, so it
    /// must not block. A connection that waits in the kernel's queue is not refused. Default: no action.
    package var refused: @Sendable (ConnectionRefusal) -> Void = { _ in }

    /// The answer to a client that takes too long for the head of its first request or for a body, sent before the
    /// client is cut off (RFC 9110 §15.5.9). Its body must be in memory. `nil`, the default: no answer. Over TLS no
    /// answer is sent, because only the connection's own thread can encrypt it.
    package var lateAnswer: Response?

    /// The number of bytes that request bodies collected in memory (``BodyPolicy/memory(limit:)``) may take, for all
    /// requests together. Default 256 MiB.
    package var bodyMemoryLimit = 256 << 20

    /// The number of bytes that answers' bodies on their way to clients may take in memory, for all answers together. 8
    /// KiB of each file and 16 KiB of each stream do not count. Bodies that are in memory for other reasons, such as
    /// ``Response/Body/bytes(_:)``, do not count either. Default 4 MiB.
    package var answerMemoryLimit = 4 << 20

    /// The time for which a connection may be silent before it is closed: between requests, within a request, and
    /// within an answer to which ``minimumAnswerRate`` does not apply. Bytes that the client has acknowledged end a
    /// silence; bytes that were only written for it do not. The time does not run while a request waits for its answer,
    /// or an answer for more of its body. Zero is no limit. Default 60 s.
    package var inactivityTimeout = Duration.seconds(60)

    /// Bytes of memory per connection. They hold the request's head with its bookkeeping, and the head of the answer.
    /// Default 32 KiB.
    package var connectionMemory = 32 * 1024

    /// The bytes of ``connectionMemory`` that the head of a request may take, including 64 bytes for each field and
    /// cookie: half of it. A larger head is refused as ``RequestDefect/headTooLarge``.
    package var headLimit: Int { connectionMemory / 2 }

    /// The bytes that a request target may have: three eighths of ``connectionMemory``. A longer target is refused as
    /// ``RequestDefect/targetTooLong``.
    package var targetLimit: Int { connectionMemory * 3 / 8 }

    /// The answer to a request that is refused before a handler is asked: its head does not fit into three quarters of
    /// ``connectionMemory``, or the framing of its body is wrong. The connection closes after it. Its body must be in
    /// memory. `nil`, the default: libmicrohttpd's own page for a head that is too large, no answer for a body.
    package var refusal: @Sendable (RequestDefect) -> Response? = { _ in nil }

    /// The time that a client may take for the whole head of a request. On a new connection it counts from the connect,
    /// so it includes the TLS handshake. On a connection kept alive it counts from the end of the ``inactivityTimeout``
    /// that the connection may be idle between two requests. For a body it is the grace period before
    /// ``minimumBodyRate`` applies. A slower client is cut off, however steadily it sends. `nil` is no limit. Default
    /// 20 s.
    package var requestDeadline: Duration? = .seconds(20)

    /// The average bytes per second at which a request's body must arrive, once ``requestDeadline`` has passed since
    /// its head. A slower client is cut off. With 0 only the ``inactivityTimeout`` limits bodies. Default 1 KiB/s.
    package var minimumBodyRate = 1024

    /// The average bytes per second, over ``answerPeriod``, at which a client must read an answer while bytes wait for
    /// it all the time. A slower client is cut off. A client that has read all available bytes, because the answer
    /// itself is slow, is never too slow. With 0 only the ``inactivityTimeout`` limits answers. Default 1 KiB/s.
    package var minimumAnswerRate = 1024

    /// The time over which ``minimumAnswerRate`` is averaged. The measured window also includes the time in which a
    /// client at that rate makes room for one more piece in its kernel: see ``SendClock``. With zero only the
    /// ``inactivityTimeout`` limits answers. Default 60 s.
    package var answerPeriod = Duration.seconds(60)

    /// The bytes of an unwanted body that are read and discarded so that the client gets to see the answer. Beyond it
    /// the connection is closed. Default 1 MiB.
    package var discardLimit = 1 << 20

    /// Called, on any thread, with each line that libmicrohttpd logs (mostly errors of clients). Default: ignores the
    /// line. A violated invariant of the library is not logged: the library prints it to standard error and aborts the
    /// process.
    package var log: @Sendable (String) -> Void = { _ in }

    /// ``LayoutProbe/isLayoutKnown``, at hand for every request. A test may set it.
    var isLayoutKnown = LayoutProbe.isLayoutKnown

    /// The clock of all deadlines, in milliseconds. A test may set its own.
    var now: @Sendable () -> Int64 = { MonotonicClock.milliseconds() }

    package init() {}

    /// ``connectionLimit`` or its default; at least 1.
    var effectiveConnectionLimit: Int {
        max(1, connectionLimit ?? min(16_384, DescriptorLimit.current / 2))
    }

    /// The number of sockets that may linger beside the served connections.
    var lingeringLimit: Int { max(1, effectiveConnectionLimit / 8) }
}
