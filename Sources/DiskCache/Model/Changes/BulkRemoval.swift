/// Reports the removals of one operation to the observer: the first entries get an event each, and the others are
/// reported as a number at the end, so that a purge of all entries does not flood the observer.
struct BulkRemoval: Sendable {
    private let verb: EntryChange.Verb
    private let filter: EntryFilter?
    private let singleLimit: Int

    init(_ verb: EntryChange.Verb, by filter: EntryFilter? = nil, singleLimit: Int = 100) {
        self.verb = verb
        self.filter = filter
        self.singleLimit = singleLimit
    }

    /// `nil`: the entry that follows `count` removed entries gets no event of its own and belongs to ``rest(of:)``.
    func verb(after count: Int) -> EntryChange.Verb? { count < singleLimit ? verb : nil }

    /// The event for the entries without an event of their own, after `count` removals in total.
    func rest(of count: Int) -> EntryChange? {
        count > singleLimit ? EntryChange(verb, others: count - singleLimit, filter) : nil
    }
}
