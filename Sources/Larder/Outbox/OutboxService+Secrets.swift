import Outbox

extension OutboxService {
    /// Passes a stored credential to another part of the server, on `queue`; `nil` when there is none, or when the
    /// outbox cannot be read.
    func credential(
        _ name: String, in namespace: String, then: @escaping @Sendable (Credential?) -> Void
    ) {
        queue.async { [self] in
            guard let store = try? storeIfExists() else { return then(nil) }
            then((try? store.credential(namespace: namespace, name: name)) ?? nil)
        }
    }
}
