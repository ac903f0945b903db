/// The reason for which all changes and credentials of a namespace are discarded.
package enum DiscardCause: Hashable, Sendable {
    case removal
    /// The namespace is begun anew. Its version then is this one; `nil`: it has no version.
    case newVersion(String?)
    /// A namespace that was lost with the cache is created again, and begins without the changes of the lost one.
    case creation
}
