/// The form of bodies on disk. The index stores the path of each body, so bodies of both layouts can be read in either.
package enum Layout: String, Hashable, Sendable, CaseIterable {
    /// Small bodies in the slab, larger bodies as files `ab/cd/<md5>`; see ``HashedPath``.
    case hashed
    /// Every body is a file in a tree that mirrors the URL; see ``ReadablePath``.
    case readable
}
