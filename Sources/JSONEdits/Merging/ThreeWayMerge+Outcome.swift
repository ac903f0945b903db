import Primitives

extension ThreeWayMerge {
    package enum Outcome: Hashable, Sendable {
        case merged(Merged)
        case clash(Clashes)
    }

    package struct Merged: Hashable, Sendable {
        /// The members of theirs in their order, and then the new members of ours in their order; `nil` if the document
        /// is deleted.
        package var value: JSON?
        /// Whether the result is equivalent to ours, so that theirs adds no change.
        package var equalsOurs: Bool
        /// Whether the result is equivalent to theirs. Then ``value`` is the value of theirs, text for text.
        package var equalsTheirs: Bool

        package init(value: JSON?, equalsOurs: Bool, equalsTheirs: Bool) {
            self.value = value
            self.equalsOurs = equalsOurs
            self.equalsTheirs = equalsTheirs
        }
    }

    package struct Clashes: Hashable, Sendable {
        /// In the order of the merged document.
        package var list: [Clash]
        /// The number of further clashes, which the list has no room for.
        package var more: Int

        package init(list: [Clash] = [], more: Int = 0) {
            self.list = list
            self.more = more
        }
    }

    /// Two different changes of one value.
    package struct Clash: Hashable, Sendable {
        package var pointer: JSONPointer
        /// `nil` if the value is missing or unknown in the base.
        package var base: JSON?
        /// `nil` if ours has no such value.
        package var ours: JSON?
        /// `nil` if theirs has no such value.
        package var theirs: JSON?

        package init(pointer: JSONPointer, base: JSON?, ours: JSON?, theirs: JSON?) {
            self.pointer = pointer
            self.base = base
            self.ours = ours
            self.theirs = theirs
        }
    }
}
