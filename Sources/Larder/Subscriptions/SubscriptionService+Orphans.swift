import DiskCache
import Logging
import Primitives
import Subscriptions

/// Copies in the cache of subscriptions that the database does not have. The state directory has been lost, or it is
/// only not mounted at present, so no copy is released before a caller asks for it.
extension SubscriptionService {
    /// The name of a subscription among all namespaces.
    struct HolderName: Hashable {
        let namespace: String
        let name: String
    }

    /// The most lost subscriptions of a namespace with a log line of their own.
    private static let reportLimit = 20

    /// Logs the lost subscriptions with copies.
    func reportOrphans() {
        for space in tools.namespaces() {
            let (cache, namespace) = (space.cache, space.name)
            cache.onDiskThread { [self] in
                let found = Result { () throws(DiskCacheError) in
                    try cache.holders().map { (name) throws(DiskCacheError) in
                        (name: name, count: try cache.generation(of: name)?.count ?? 0)
                    }
                }
                queue.async { [self] in
                    if case .stopped = phase { return }
                    switch found {
                    case .success(let holders): report(holders, in: namespace)
                    case .failure(let error):
                        tools.logger.warning(
                            "the copies of subscriptions cannot be counted",
                            metadata: ["namespace": "\(namespace)", "reason": "\(error)"])
                    }
                }
            }
        }
    }

    private func report(_ holders: [(name: String, count: Int)], in namespace: String) {
        let known = Set(records.values.map(\.holder))
        let orphans = holders.filter { !known.contains(HolderName(namespace: namespace, name: $0.name)) }
        for orphan in orphans.prefix(Self.reportLimit) {
            tools.logger.warning(
                """
                the cache holds copies of a subscription that is not in the state directory, and keeps them; if the \
                subscription is no longer wanted, DELETE /subscriptions/NAME releases them
                """,
                metadata: [
                    "subscription": "\(orphan.name)", "namespace": "\(namespace)", "entries": .number(orphan.count),
                ])
        }
        guard orphans.count > Self.reportLimit else { return }
        tools.logger.warning(
            "the cache holds copies of further subscriptions that are not in the state directory",
            metadata: [
                "namespace": "\(namespace)", "subscriptions": .number(orphans.count - Self.reportLimit),
            ])
    }

    /// Releases the copies of a lost subscription. Meanwhile no subscription of this name can be made.
    func removeOrphan(
        _ holder: HolderName, keepingCopies: Bool, _ condition: Condition?, _ completion: @escaping Completion<Int>
    ) {
        let isEnding = records.values.contains { $0.holder == holder } || releasing.contains(holder)
        guard !isEnding, let cache = tools.namespace(holder.namespace)?.cache else {
            return completion(Self.absence(of: holder, condition))
        }
        releasing.insert(holder)
        let end: @Sendable (Result<Int, SubscriptionFailure>) -> Void = { [self] result in
            queue.async { [self] in
                releasing.remove(holder)
                if case .success = result { publishEnd(of: holder) }
                completion(result)
            }
        }
        cache.onDiskThread {
            do throws(DiskCacheError) {
                guard try cache.generation(of: holder.name) != nil else {
                    return end(Self.absence(of: holder, condition))
                }
            } catch {
                return end(.failure(.cache(DownloadError(error))))
            }
            guard condition?(true) ?? true else { return end(.failure(.conditionFailed)) }
            cache.release(holder.name, removing: !keepingCopies) { result in
                end(result.mapError { .cache(DownloadError($0)) })
            }
        }
    }

    private static func absence(of holder: HolderName, _ condition: Condition?) -> Result<Int, SubscriptionFailure> {
        .failure(condition?(false) ?? true ? .noSubscription(holder.name) : .conditionFailed)
    }
}

extension SubscriptionRecord {
    var holder: SubscriptionService.HolderName { .init(namespace: namespace, name: definition.name) }
}
