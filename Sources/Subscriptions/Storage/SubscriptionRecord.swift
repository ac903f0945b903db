import GRDB
import Primitives

/// A subscription in the ``SubscriptionStore``, without its members.
package struct SubscriptionRecord: Sendable {
    /// The end of a subscription, which keeps its copies as ordinary entries, or removes them.
    package enum Ending: String, Sendable {
        case keepingCopies, removingCopies
    }

    package let id: Int64
    package let namespace: String
    package var definition: Subscription
    /// The bytes of the definition in JSON.
    package let definitionBytes: Int
    package var source: SourceState
    /// `nil`: the subscription goes on.
    package var ending: Ending?

    package init(id: Int64, namespace: String, definition: Subscription, source: SourceState) {
        self.id = id
        self.namespace = namespace
        self.definition = definition
        definitionBytes = definition.json.utf8.count
        self.source = source
    }
}

/// The state of a subscription's source.
package struct SourceState: Hashable, Sendable {
    /// The validators of the source's document, for a source that is one document.
    package var etag: String?
    package var lastModified: String?
    /// The state of the machine, without its members and without the pauses of hosts.
    package var refresh: RefreshMachine.State

    package init(_ refresh: RefreshMachine.State) {
        self.refresh = refresh
        self.refresh.members = []
        self.refresh.leaving = []
        self.refresh.pauses = [:]
    }

    /// The columns in the order of the update.
    var row: StatementArguments {
        [
            etag, lastModified, refresh.date.milliseconds, refresh.sourceDue.milliseconds,
            refresh.sourceEarliest?.milliseconds, refresh.sourceInterval?.milliseconds,
            refresh.regularDue?.milliseconds, refresh.sourceProblem?.reason,
            refresh.sourceProblem?.since.milliseconds, refresh.noRoomSince?.milliseconds, refresh.isUrgent,
            refresh.isRedefined,
        ]
    }
}

/// A wanted resource in the ``SubscriptionStore``.
package struct MemberRecord: Hashable, Sendable {
    package var member: RefreshMachine.Member
    /// In the list of the source, from 0. Negative: the source has dropped the resource, and readers have its copy
    /// until the next switch.
    package var position: Int
    /// When the origin confirmed or sent the copy; `nil` without a copy.
    package var confirmed: Timestamp?

    package init(member: RefreshMachine.Member, position: Int, confirmed: Timestamp?) {
        self.member = member
        self.position = position
        self.confirmed = confirmed
    }

    /// The columns in the order of the table.
    func row(of subscription: Int64) -> StatementArguments {
        [
            subscription, member.item.key, member.item.url, member.item.host, position, member.hasCopy,
            confirmed?.milliseconds, member.due.milliseconds, member.interval?.milliseconds,
            member.earliest?.milliseconds, member.failures, member.problem?.reason,
            member.problem?.since.milliseconds, member.problem?.isLasting ?? false, member.isStopped,
            member.item.requestURL == member.item.url ? nil : member.item.requestURL,
        ]
    }
}
