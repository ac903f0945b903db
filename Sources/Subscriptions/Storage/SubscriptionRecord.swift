import Primitives

/// A subscription in the ``SubscriptionStore``, without its members.
package struct SubscriptionRecord: Sendable {
    /// The end of a subscription, which keeps its copies as ordinary entries, or removes them.
    package enum Ending: String, Sendable {
        case keepingCopies, removingCopies
    }

    /// A new definition of the same name keeps the id; no other subscription ever gets it.
    package let id: Int64
    /// The name of the namespace, which may be missing at present.
    package let namespace: String
    package var definition: Subscription
    /// The bytes of the definition in JSON.
    package let definitionBytes: Int
    package var source: SourceState
    /// `nil`: the subscription goes on.
    package var ending: Ending?
    /// The number of the namespace, of which the removal has begun: the subscription is not one of a later namespace
    /// with the name. `nil`: no removal has begun.
    package var endingSpace: Int?

    /// A subscription that goes on.
    package init(id: Int64, namespace: String, definition: Subscription, source: SourceState) {
        self.id = id
        self.namespace = namespace
        self.definition = definition
        definitionBytes = definition.json.utf8.count
        self.source = source
    }
}
