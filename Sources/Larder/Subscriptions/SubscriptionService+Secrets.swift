import Logging
import Outbox
import Primitives
import Subscriptions

/// The credentials of subscriptions. Without its credential a subscription sends no request, because an origin would
/// take it for an anonymous one. A credential that is for no origin of the source counts as missing. All on `queue`.
extension SubscriptionService {
    /// The time after which a long refresh reads its secrets again, and after which a missing one is looked for again.
    private static let secretsTime: Duration = .seconds(60)

    /// Looks for the missing credential of a set if it is time. Returns the next date of this; otherwise `nil`.
    func lookForSecrets(of set: HeldSet, at now: Timestamp) -> Timestamp? {
        guard let date = set.machine.lookDate else { return nil }
        if date > now { return date }
        _ = hasSecrets(set, at: now)
        return nil
    }

    /// Whether the set has the secrets for the running refresh or the next one. Otherwise they are being read, and the
    /// set goes on when they are there.
    func hasSecrets(_ set: HeldSet, at now: Timestamp) -> Bool {
        guard let name = set.definition.credential else { return true }
        let refresh = set.machine.refreshNumber
        switch set.secrets {
        case .loaded(refresh: refresh, let date, _) where date <= now && now - date < Self.secretsTime: return true
        case .loading(refresh: refresh): return false
        case .unknown, .loading, .loaded: break
        }
        set.secrets = .loading(refresh: refresh)
        tools.credential(name, set.namespace) { [weak self] found in
            self?.queue.async { [weak self] in
                guard let self, sets[set.id] === set, case .loading(refresh: refresh) = set.secrets else { return }
                didLook(found, name, refresh, set)
            }
        }
        return false
    }

    private func didLook(_ found: CredentialLookup, _ name: String, _ refresh: UInt64, _ set: HeldSet) {
        let now = tools.clock.now()
        if case .found(let credential) = found, covers(credential, set.ownOrigins) {
            set.secrets = .loaded(refresh: refresh, now, credential)
            if set.machine.lookDate != nil { handle(.accessRegained, set) }
            return scheduleAdvance()
        }
        set.secrets = .unknown
        let isFirst = set.machine.lookDate == nil
        guard let failure = failure(of: found, name, set.ownOrigins, set.namespace, isLogged: isFirst) else { return }
        handle(.accessLost(reason: failure.description, lookDate: now + Self.secretsTime), set)
        // The rest of the list would come from another time.
        if let reading = set.reading, !set.isReadingDocument { fail(failure.description, reading, set) }
    }

    /// Whether at least one origin gets fields of the credential. The requests to the others have none.
    private func covers(_ credential: Credential, _ origins: Set<String>) -> Bool {
        origins.contains { !credential.fields(for: $0).isEmpty }
    }

    /// The reason for which a credential cannot be used; `nil` if it was found, and is for one of the origins at least.
    func failure(
        of lookup: CredentialLookup, _ name: String, _ origins: Set<String>, _ namespace: String, isLogged: Bool = true
    ) -> SubscriptionFailure? {
        switch lookup {
        case .found(let credential):
            if covers(credential, origins) { return nil }
            return .foreignCredential(name: name, origin: origins.min() ?? "")
        case .missing: return .noCredential(name)
        case .unreadable(let reason):
            guard isLogged else { return .unreadableCredential(name) }
            // The reason can name files of the server, which readers of the report must not learn.
            tools.logger.warning(
                "the credential of a subscription cannot be read",
                metadata: ["namespace": "\(namespace)", "credential": "\(name)", "reason": "\(reason)"])
            return .unreadableCredential(name)
        }
    }

    /// A credential was stored, or another secret under its name. The origin may now permit requests that it has
    /// refused.
    func credentialStored(_ name: String, in namespace: String) {
        queue.async { [self] in
            for set in sets.values where set.namespace == namespace && set.definition.credential == name {
                if case .loaded = set.secrets { set.secrets = .unknown }
                handle(.secretChanged, set)
            }
        }
    }
}
