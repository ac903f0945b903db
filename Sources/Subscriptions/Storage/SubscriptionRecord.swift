import GRDB
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

/// The state of a subscription's source.
package struct SourceState: Hashable, Sendable {
    /// The validators of the source's document as the origin sent them, for a source that is one document; `nil`: the
    /// origin sent none, or the definition is new.
    package var etag: String?
    /// See ``etag``.
    package var lastModified: String?
    /// When the source first listed its items that claim to be from the future, by the names of the items.
    package var futureDates: [String: Timestamp] = [:]
    /// The state of the machine, without its members and without the pauses of hosts.
    package var refresh: RefreshMachine.State

    /// Leaves out the members and the pauses, which have rows of their own. There are no validators yet.
    package init(_ refresh: RefreshMachine.State) {
        self.refresh = refresh
        self.refresh.members = []
        self.refresh.leaving = []
        self.refresh.pauses = [:]
    }

    /// An object of JSON with dates in milliseconds; `nil` without an item.
    var futureDatesText: String? {
        if futureDates.isEmpty { return nil }
        return JSON.object(futureDates.map { JSON.Member($0.key, .number($0.value.milliseconds)) }).text
    }

    static func futureDates(_ text: String?) -> [String: Timestamp] {
        guard let text, case .object(let members)? = try? JSON(parsing: text) else { return [:] }
        let dates = members.compactMap { member in
            member.value.integerValue.map { (member.name, Timestamp(milliseconds: $0)) }
        }
        return Dictionary(dates) { first, _ in first }
    }

    /// The columns in the order of the update.
    var row: StatementArguments {
        [
            etag, lastModified, refresh.date.milliseconds, refresh.sourceDue.milliseconds,
            refresh.sourceEarliest?.milliseconds, refresh.sourceInterval?.milliseconds,
            refresh.regularDue?.milliseconds, refresh.sourceProblem?.reason,
            refresh.sourceProblem?.since.milliseconds, refresh.noRoomSince?.milliseconds, refresh.isUrgent,
            refresh.isRedefined, futureDatesText,
        ]
    }
}

/// A wanted resource in the ``SubscriptionStore``.
package struct MemberRecord: Hashable, Sendable {
    /// The step is not stored: every member rests after a restart.
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
