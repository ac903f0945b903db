import Primitives
import Synchronization

/// What every connection of a running daemon needs to know.
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

    /// ``Daemon/Configuration/lateAnswer`` as bytes; empty: there is none, or it would have to go through TLS.
    let lateAnswer: [UInt8]
    /// ``Daemon/Configuration/crowdAnswer`` as bytes; empty: as above.
    let crowdAnswer: [UInt8]
    /// ``Daemon/Configuration/fullAnswer`` as bytes; empty: as above.
    let fullAnswer: [UInt8]

    /// What the TLS of the next connection begins with; `nil` without TLS.
    let tls: CurrentCredentials?

    /// ``Daemon/Configuration/requestDeadline`` in milliseconds; `nil` is no limit.
    let requestMilliseconds: Int64?
    /// How long after a request the next one's head must be complete, in milliseconds; `nil` is no limit.
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

    /// The time of ``Daemon/Configuration/now``, which every deadline is held against.
    func now() -> Int64 { configuration.now() }
}
