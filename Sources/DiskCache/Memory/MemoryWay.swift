/// Which way a value goes that is asked for, as long as its memory tier is as it is.
enum MemoryWay: Sendable {
    /// By the tier: it is there, or there is room for it.
    case `in`
    /// Past it: it would take the place of others, and was not asked for a short time ago.
    case past
    /// It was, and is worth such a place from now on.
    case pastAndIn
}
