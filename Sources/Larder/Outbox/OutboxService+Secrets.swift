import Outbox
import Primitives

/// The secret fields of credentials, which only requests get.
extension OutboxService {
    /// The fields that a request gets from a credential.
    enum Secrets {
        /// None for a change without a credential.
        case fields([ChangeField])
        /// There is no such credential, or it is not for the origin. The request is then not made, because an anonymous
        /// write could succeed where the author wants none.
        case missing
        /// The database has failed.
        case unreadable
    }

    func secrets(_ name: String?, _ namespace: String, for url: String, _ store: OutboxStore) -> Secrets {
        guard let name else { return .fields([]) }
        do {
            guard let url = try? CanonicalURL(url),
                let credential = try store.credential(namespace: namespace, name: name)
            else { return .missing }
            let fields = credential.fields(for: ChangeTarget(url, key: "").origin)
            return fields.isEmpty ? .missing : .fields(fields)
        } catch {
            tools.logger.warning(
                "a credential cannot be read",
                metadata: ["namespace": "\(namespace)", "credential": "\(name)", "reason": "\(error)"])
            return .unreadable
        }
    }

    /// Passes a stored credential to another part of the server, on `queue`. A credential that is to be discarded
    /// counts as missing.
    func credential(
        _ name: String, in namespace: String, then: @escaping @Sendable (CredentialLookup) -> Void
    ) {
        queue.async { [self] in
            do {
                let store = try storeIfExists()
                let credential = isHeld(namespace) ? nil : try store?.credential(namespace: namespace, name: name)
                then(credential.map(CredentialLookup.found) ?? .missing)
            } catch {
                then(.unreadable(reason: "\(error)"))
            }
        }
    }

    /// Calls `observer` on `queue` after each credential that is stored. Later look-ups have the new secret.
    func observeCredentials(_ observer: @escaping @Sendable (_ name: String, _ namespace: String) -> Void) {
        queue.async { [self] in credentialObserver = observer }
    }
}
