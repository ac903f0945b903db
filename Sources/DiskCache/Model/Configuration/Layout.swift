/// The way in which bodies are kept on disk. The index stores the path of each body, so a body that was written with
/// either layout can be read with the other.
package enum Layout: String, Hashable, Sendable, CaseIterable {
    /// By MD5: small bodies in the slab, larger bodies as files `ab/cd/<md5>`; see ``HashedPath``.
    case hashed
    /// Every body is a file in a tree that mirrors the URL; see ``ReadablePath``.
    case readable
}
