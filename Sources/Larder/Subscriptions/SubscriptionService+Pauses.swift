import Logging
import Primitives
import Subscriptions

/// The pauses of hosts, each for the subscriptions of one namespace. All on `queue`.
extension SubscriptionService {
    /// Pauses a host, and tells the sets of the namespace about this. The pause must hold after a restart, too, so it
    /// is stored at once.
    func obey(_ wish: HostWish, in namespace: String) {
        guard let host = wish.host else { return }
        let now = tools.clock.now()
        pacer.pause(host, in: namespace, for: wish.time, at: now)
        for set in sets.values where set.namespace == namespace {
            handle(.hostPaused(host: host, until: now + wish.time), set)
        }
        savePauses(at: now)
    }

    /// Tells a set that begins about the pauses of its hosts.
    func passPauses(to set: HeldSet, at now: Timestamp) {
        for (host, end) in pacer.pauses(in: set.namespace, at: now) {
            handle(.hostPaused(host: host, until: end), set)
        }
    }

    /// A later namespace with the name must not wait because of a removed one.
    func forgetPauses(of namespace: String) {
        pacer.forgetPauses(in: namespace)
        savePauses(at: tools.clock.now())
    }

    private func savePauses(at now: Timestamp) {
        let pauses = pacer.allPauses(at: now)
        guard case .open(let store) = phase, pauses != savedPauses else { return }
        do {
            try store.savePauses(pauses, now: now)
            savedPauses = pauses
        } catch {
            tools.logger.warning("the pause of a host cannot be stored", metadata: ["reason": "\(error)"])
        }
    }
}
