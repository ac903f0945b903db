/// The changes of a namespace that a caller may make. A higher authority includes all lower authorities.
package enum NamespaceAuthority: Int, Comparable, Sendable {
    /// Begin the namespace anew with another version, which removes its entries.
    case purger
    /// Change settings that affect no other namespace: default ttl, layout, and the caching of bodies.
    case owner
    /// Create and remove the namespace, and set its limits and its permitted origins.
    case `operator`

    package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}
