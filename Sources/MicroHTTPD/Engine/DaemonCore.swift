import Primitives

/// The state that all connections of a running daemon share.
final class DaemonCore: Sendable {
    let configuration: DaemonConfiguration
    let headLimits: HeadCheck.Limits
    let handler: any RequestHandler
    let registry = ConnectionRegistry()
    let threadLoads: ThreadLoads
    let suspensions = Suspensions()
    let sockets: SocketWatch
    let lingering: LingeringSockets
    let exchanges: ExchangeResources

    /// The configured answers as bytes; empty if there is none, and with TLS.
    let lateAnswer: [UInt8]
    let crowdAnswer: [UInt8]
    let fullAnswer: [UInt8]
    let tls: CurrentCredentials?

    /// ``DaemonConfiguration/requestDeadline``; `nil` is no limit.
    let requestMilliseconds: Int64?
    /// For the next head to be complete after a request; `nil` is no limit.
    let idleMilliseconds: Int64?

    init(configuration: DaemonConfiguration, handler: any RequestHandler, tls: CurrentCredentials?) throws {
        self.configuration = configuration
        headLimits = HeadCheck.Limits(
            head: configuration.headLimit, target: configuration.targetLimit,
            isLayoutKnown: configuration.isLayoutKnown)
        self.handler = handler
        threadLoads = ThreadLoads(threads: max(1, configuration.threads))
        guard let sockets = SocketWatch() else { throw DaemonError.system(.start) }
        self.sockets = sockets
        exchanges = ExchangeResources(
            bodyMemory: configuration.bodyMemoryLimit, answerMemory: configuration.answerMemoryLimit,
            discardLimit: configuration.discardLimit)
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

    func now() -> Int64 { configuration.now() }
}
