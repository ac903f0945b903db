/// The reason for which a call about subscriptions fails.
package enum SubscriptionFailure: Error, Sendable {
    /// The server has no state directory.
    case noDirectory
    case noSubscription(String)
    /// The namespace has as many subscriptions as it may have.
    case tooMany(limit: Int)
    /// The definitions of the namespace are as long as they may be.
    case tooLong(limit: Int)
    /// The origin policy allows no request to a URL of the definition.
    case refused(url: String, reason: String)
    case noCredential(String)
    /// The credential is for no origin of the source, of which `origin` is one.
    case foreignCredential(name: String, origin: String)
    /// The outbox, which has the credentials, cannot be read.
    case unreadableCredential(String)
    case noNamespace(String)
    case conditionFailed
    /// The subscription is being removed.
    case ending(String)
    /// The namespace is being removed.
    case removing(String)
    case stopping
    /// The state cannot be read or written; in words.
    case state(StateFailure)
    case cache(DownloadError)

    package enum StateFailure: Error, Hashable, Sendable {
        case noSpace
        case other(String)
    }
}

extension SubscriptionFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noDirectory:
            "the server has no state directory for subscriptions; start it with --state-directory, or set HOME"
        case .noSubscription(let name): "there is no subscription \"\(name)\""
        case .tooMany(let limit): "the namespace has \(limit) subscriptions, the limit; remove some"
        case .tooLong(let limit):
            "the definitions of the namespace have at most \(limit) bytes together; remove some, or name fewer URLs"
        case .refused(let url, let reason): "\(url) cannot be fetched: \(reason)"
        case .noCredential(let name): "there is no credential \"\(name)\"; store it first (PUT /credentials/\(name))"
        case .foreignCredential(let name, let origin):
            "the credential \"\(name)\" is for no origin of the source; store it for \(origin) (PUT /credentials/\(name))"
        case .unreadableCredential(let name):
            "the credential \"\(name)\" cannot be read; see the log of the server"
        case .noNamespace(let name): "there is no namespace \"\(name)\""
        case .conditionFailed: "the subscription does not match the condition of the request"
        case .removing(let name): "the namespace \"\(name)\" is being removed; retry later"
        case .ending(let name): "the subscription \"\(name)\" is being removed; retry later"
        case .stopping: "the server is stopping"
        case .state(.noSpace): "the disk is full, and the subscription was not stored; free some space and try again"
        case .state(.other(let reason)): reason
        case .cache(let error): error.description
        }
    }
}
