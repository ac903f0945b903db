/// How an operation that may remove any number of entries is told of: the first one by one, the others as a number at
/// its end. So a purge of everything floods nobody.
struct BulkRemoval: Sendable {
    private let verb: EntryChange.Verb
    private let filter: EntryFilter?
    private let singleLimit: Int

    /// - Parameters:
    ///   - filter: by which the entries are chosen, when it is a single one.
    ///   - singleLimit: how many are told of one by one; 100 unless told.
    init(_ verb: EntryChange.Verb, by filter: EntryFilter? = nil, singleLimit: Int = 100) {
        self.verb = verb
        self.filter = filter
        self.singleLimit = singleLimit
    }

    /// How the entry is told of that goes after so many others; `nil`: it is one of the number.
    func verb(after count: Int) -> EntryChange.Verb? { count < singleLimit ? verb : nil }

    /// The number, after so many have gone; `nil` when each was told of.
    func rest(of count: Int) -> EntryChange? {
        count > singleLimit ? EntryChange(verb, others: count - singleLimit, filter) : nil
    }
}
