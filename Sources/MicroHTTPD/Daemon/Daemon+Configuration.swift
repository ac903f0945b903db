import Foundation
import Primitives

extension Daemon {
    /// What a daemon listens on, and what it allows its clients.
    public struct Configuration: Sendable {
        /// The address to listen on: an IPv4 or IPv6 literal, or a name, which is resolved when the daemon starts (the
        /// first of its addresses is taken). `::` serves IPv4 too. Default `127.0.0.1`.
        public var host = "127.0.0.1"

        /// The TCP port. 0, the default, takes any free one: ask ``Daemon/port`` after the start.
        public var port: UInt16 = 0

        /// With credentials the daemon speaks TLS 1.2 and 1.3, and nothing else: a client of plain HTTP is closed.
        /// `nil`, the default: no TLS.
        public var tls: TLSCredentials?

        /// How many threads serve the connections. Default: one a processor, which measured best.
        public var threads = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

        /// How many connections may be served at once. Beyond it a new one gets ``fullAnswer`` and is closed; its
        /// socket, and those of others that were refused a moment ago, take places of a reserve, which is an eighth
        /// more (at least one). When that is taken, too, new ones wait in the kernel's queue until others close.
        ///
        /// `nil`, the default: 16,384, or half of the process's descriptors where that is less. A number counts as it
        /// is: who gives one knows what else the process opens.
        public var connectionLimit: Int?

        /// What a client gets when there are ``connectionLimit`` connections already; its body is in memory. It should
        /// have a `Retry-After`. `nil`, the default: nothing. Over TLS it gets nothing: there was no handshake yet.
        public var fullAnswer: Response?

        /// How many connections one client address may have at once; more get ``crowdAnswer`` and are closed. 0, the
        /// default, is no limit.
        public var connectionLimitPerAddress = 0

        /// What a client gets that has ``connectionLimitPerAddress`` connections already; its body is in memory. `nil`,
        /// the default: nothing. Over TLS it gets nothing: there was no handshake yet.
        public var crowdAnswer: Response?

        /// Is told of each connection that gets ``fullAnswer`` or ``crowdAnswer``, on the thread that accepts them,
        /// which it must not keep waiting. One that waits in the kernel's queue is none yet. Default: nothing is done.
        public var refused: @Sendable (ConnectionRefusal) -> Void = { _ in }

        /// What a client gets that takes too long for the head of its first request or for a body, before it is cut
        /// off (RFC 9110 §15.5.9); its body is in memory. `nil`, the default: nothing. Over TLS it gets nothing: what
        /// is sent there is encrypted on the connection's own thread.
        public var lateAnswer: Response?

        /// How many bytes of bodies may be collected in memory at a time, of all requests together
        /// (``BodyPolicy/memory(limit:)``). Default 256 MiB.
        public var bodyMemoryLimit = 256 << 20

        /// How many bytes of answers' bodies may be in memory on their way to clients, of all answers together, beyond
        /// 8 KiB of a file and 16 KiB of a stream for each. Bodies that are in memory for other reasons, such as
        /// ``Response/Body/bytes(_:)``, do not count. Default 4 MiB.
        public var answerMemoryLimit = 4 << 20

        /// How long a connection may be silent before it is closed: between requests, within one, and within an answer
        /// to which ``minimumAnswerRate`` does not apply. Bytes that the client has acknowledged end a silence, not
        /// bytes that were written for it. Zero is no limit. It does not run while a request waits for its answer, or
        /// an answer for more of its body. Default 60 s.
        public var inactivityTimeout = Duration.seconds(60)

        /// Bytes of memory a connection. It holds the request's head with its bookkeeping and the head of the answer.
        /// Default 32 KiB.
        public var connectionMemory = 32 * 1024

        /// How much of ``connectionMemory`` the head of a request may take, 64 bytes for each field and cookie
        /// included. A larger one is refused: ``Request/Defect/headTooLarge``. Half of it.
        public var headLimit: Int { connectionMemory / 2 }

        /// How many bytes a request target may have. A longer one is refused: ``Request/Defect/targetTooLong``. Three
        /// eighths of ``connectionMemory``.
        public var targetLimit: Int { connectionMemory * 3 / 8 }

        /// What a client gets whose request is refused before a handler is asked: its head does not fit into three
        /// quarters of ``connectionMemory``, or the framing of its body is wrong. The connection closes after it. Its
        /// body is in memory. `nil`, the default: a page of libmicrohttpd's for the head, nothing for the body.
        public var refusal: @Sendable (Request.Defect) -> Response? = { _ in nil }

        /// How long a client may take for the whole head of a request: counted from when it connected, so that TLS is
        /// part of it, and on a connection kept alive from the end of the ``inactivityTimeout`` that it may be idle
        /// between two requests. For a body it is the grace before ``minimumBodyRate`` holds. A client that takes
        /// longer is cut off, however steadily it trickles. `nil` is no limit. Default 20 s.
        public var requestDeadline: Duration? = .seconds(20)

        /// Bytes a second that a request's body must make on average, once ``requestDeadline`` has passed since its
        /// head; a slower client is cut off. 0 leaves bodies to the ``inactivityTimeout``. Default 1 KiB/s.
        public var minimumBodyRate = 1024

        /// Bytes a second that a client must take of an answer, on average over ``answerPeriod``, while some of it
        /// waits for the client all the time; a slower one is cut off. A client that has taken all there is, because
        /// the answer itself is slow, is never too slow. 0 leaves answers to the ``inactivityTimeout``. Default 1
        /// KiB/s.
        public var minimumAnswerRate = 1024

        /// How long ``minimumAnswerRate`` is averaged over, beside the time in which a client at that rate makes room
        /// for one more piece in its kernel: see ``SendClock``. Zero leaves answers to the ``inactivityTimeout``.
        /// Default 60 s.
        public var answerPeriod = Duration.seconds(60)

        /// How many bytes of a body that nobody wants any more are read and thrown away so that the client gets to see
        /// the answer; beyond it the connection is closed. Default 1 MiB.
        public var discardLimit = 1 << 20

        /// Gets each line that libmicrohttpd logs (mostly what clients did wrong), on any thread. Default: nothing is
        /// done with them. A violated invariant of the library is not among them: it prints to standard error and
        /// aborts the process.
        public var log: @Sendable (String) -> Void = { _ in }

        /// ``LayoutProbe/isLayoutKnown``, at hand for every request; a test may pretend.
        var isLayoutKnown = LayoutProbe.isLayoutKnown

        /// The clock of all deadlines, in milliseconds; a test may turn one of its own.
        var now: @Sendable () -> Int64 = { MonotonicClock.milliseconds() }

        /// A configuration with the defaults.
        public init() {}

        /// ``connectionLimit``, or what it is by default; at least 1.
        var effectiveConnectionLimit: Int {
            max(1, connectionLimit ?? min(16_384, DescriptorLimit.current / 2))
        }

        /// How many sockets may linger beside them.
        var lingeringLimit: Int { max(1, effectiveConnectionLimit / 8) }
    }
}
