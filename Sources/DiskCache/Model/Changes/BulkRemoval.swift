/// Decides how an operation that may remove any number of entries reports to the observer: the first entries get an
/// event each, and the others are reported as a number at the end. A purge of all entries therefore does not flood the
/// observer.
struct BulkRemoval: Sendable {
    private let verb: EntryChange.Verb
    private let filter: EntryFilter?
    private let singleLimit: Int

    /// - Parameters:
    ///   - filter: the filter that chose the entries; `nil` when the operation used none, or several.
    ///   - singleLimit: the number of entries that get an event of their own; 100 by default.
    init(_ verb: EntryChange.Verb, by filter: EntryFilter? = nil, singleLimit: Int = 100) {
        self.verb = verb
        self.filter = filter
        self.singleLimit = singleLimit
    }

    /// Returns the verb of the event for the entry that follows `count` removed entries; `nil` when this entry gets no
    /// event of its own and belongs to ``rest(of:)``.
    func verb(after count: Int) -> EntryChange.Verb? { count < singleLimit ? verb : nil }

    /// Returns the event for the entries without an event of their own, after `count` removals in total; `nil` when
    /// every entry had its own event.
    func rest(of count: Int) -> EntryChange? {
        count > singleLimit ? EntryChange(verb, others: count - singleLimit, filter) : nil
    }
}
