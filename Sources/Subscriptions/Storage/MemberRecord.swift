import GRDB
import Primitives

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
            member.problem?.isForbidden ?? false,
        ]
    }
}
