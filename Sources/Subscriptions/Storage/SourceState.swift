import GRDB
import Primitives

/// The state of a subscription's source.
package struct SourceState: Hashable, Sendable {
    /// The validators of the source's document as the origin sent them, for a source that is one document; `nil`: the
    /// origin sent none, or the definition is new.
    package var etag: String?
    /// See ``etag``.
    package var lastModified: String?
    /// When the source first listed its items that claim to be from the future, by the names of the items.
    package var futureDates: [String: Timestamp] = [:]
    /// The items of the last list without a URL that can be fetched.
    package var leftOut = 0
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
            refresh.isRedefined, futureDatesText, leftOut,
        ]
    }
}
