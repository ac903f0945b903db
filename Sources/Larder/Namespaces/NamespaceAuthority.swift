/// How much somebody may do to a namespace; who may more may the lesser, too.
public enum NamespaceAuthority: Int, Comparable, Sendable {
    /// Begin it anew, by another version: what is in it goes.
    case purger
    /// Choose what concerns nobody else: its default ttl, its layout, and the caching of its bodies.
    case owner
    /// Make it and remove it, and say what it may take of the server and which origins it may ask.
    case `operator`

    /// Whether the first may less.
    public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}
