import Primitives
import Synchronization

/// The state that all connections of a running daemon share.
final class DaemonCore: Sendable {
    let configuration: Daemon.Configuration
    let headLimits: HeadCheck.Limits
    let handler: any RequestHandler
    let registry = ConnectionRegistry()
    let threadLoads: ThreadLoads
    let suspensions = Suspensions()
    let sockets: SocketWatch
    let lingering: LingeringSockets
    let bodyMemory: BodyMemory
    let answerMemory: AnswerMemory

    /// ``Daemon/Configuration/lateAnswer`` as bytes; empty if there is none, and with TLS.
    let lateAnswer: [UInt8]
    /// ``Daemon/Configuration/crowdAnswer`` as bytes; empty as above.
    let crowdAnswer: [UInt8]
    /// ``Daemon/Configuration/fullAnswer`` as bytes; empty as above.
    let fullAnswer: [UInt8]

    /// The credentials of the next connection; `nil` without TLS.
    let tls: CurrentCredentials?

    /// ``Daemon/Configuration/requestDeadline`` in milliseconds; `nil` is no limit.
    let requestMilliseconds: Int64?
    /// The time after a request within which the next head must be complete, in milliseconds; `nil` is no limit.
    let idleMilliseconds: Int64?

    /// Whether every answer says that the connection closes after it.
    let isDraining = Atomic<Bool>(false)

    init(configuration: Daemon.Configuration, handler: any RequestHandler, tls: CurrentCredentials?) throws {
        self.configuration = configuration
        headLimits = HeadCheck.Limits(configuration)
        self.handler = handler
        threadLoads = ThreadLoads(threads: max(1, configuration.threads))
        sockets = try SocketWatch()
        bodyMemory = BodyMemory(limit: configuration.bodyMemoryLimit)
        answerMemory = AnswerMemory(limit: configuration.answerMemoryLimit)
        let isPlain = tls == nil
        lateAnswer = isPlain ? configuration.lateAnswer?.wireForm(toHead: false) ?? [] : []
        crowdAnswer = isPlain ? configuration.crowdAnswer?.wireForm(toHead: false) ?? [] : []
        fullAnswer = isPlain ? configuration.fullAnswer?.wireForm(toHead: false) ?? [] : []
        self.tls = tls
        lingering = LingeringSockets(
            watch: sockets, registry: registry, limit: configuration.lingeringLimit, now: configuration.now)
        requestMilliseconds = configuration.requestDeadline.map { max(1, $0.milliseconds) }
        let idle = configuration.inactivityTimeout.milliseconds
        idleMilliseconds = idle > 0 ? requestMilliseconds.map { $0 + idle } : nil
    }

    /// The time of ``Daemon/Configuration/now``, which all deadlines use.
    func now() -> Int64 { configuration.now() }
}
