import Logging
import Origin
import Primitives
import Subscriptions

/// The hosts of a namespace that want no request for some time, as a 429 or 503 with `Retry-After` says (RFC 9110
/// §10.2.3). Downloads and the subscriptions of the namespace obey these pauses, and learn them.
///
/// A namespace has its own pauses, because its callers must neither learn about the requests of other namespaces nor
/// be able to stop them. The pauses are only in memory, for at most ``HostPacer/pauseLimit`` hosts.
final class HostPauses: Sendable {
    private let pacer = Locked(HostPacer())
    private let logger: Logger?

    /// `logger` gets a line for each pause that begins.
    init(logger: Logger? = nil) {
        self.logger = logger
    }

    /// The end of the pause of an origin (``OriginRequest/origin``); `nil` without a pause.
    func end(of origin: String, at now: Timestamp) -> Timestamp? {
        pacer.withLock { $0.pauseEnd(of: origin, at: now) }
    }

    /// Pauses an origin, for at most a day. An earlier pause of the origin does not become shorter.
    func pause(_ origin: String, for time: Duration, at now: Timestamp) {
        let begun: Timestamp? = pacer.withLock { pacer in
            let earlier = pacer.pauseEnd(of: origin, at: now)
            pacer.pause(origin, for: time, at: now)
            return earlier == nil ? pacer.pauseEnd(of: origin, at: now) : nil
        }
        guard let begun else { return }
        logger?.info("a host asked for a pause", metadata: ["host": "\(origin)", "until": "\(begun.rfc3339)"])
    }

    /// Forgets ended pauses, and notices a clock that has gone back.
    func forget(at now: Timestamp) {
        pacer.withLock { $0.forget(at: now) }
    }
}

extension FetchTools {
    /// Throws ``DownloadError/hostPaused(origin:until:retryAfter:)`` while an origin wants no request.
    func checkPause(of origin: String) throws(DownloadError) {
        let now = clock.now()
        guard let end = pauses.end(of: origin, at: now) else { return }
        throw .hostPaused(origin: origin, until: end, retryAfter: ((end - now).milliseconds + 999) / 1000)
    }

    /// Pauses the origin of an answer if the answer asks for this.
    func notePause(_ head: OriginHead) {
        let now = clock.now()
        guard let seconds = head.retryAfter(now: now), let origin = head.origin else { return }
        pauses.pause(origin, for: .seconds(seconds), at: now)
    }
}
