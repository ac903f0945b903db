/// Paths of bodies in the hashed layout, relative to the namespace's directory: `ab/cd/abcd…`, two levels of 256
/// directories.
public enum HashedPath {
    /// The path of a key's body.
    ///
    /// - Parameter collision: 0, or which of the callers' keys with the same MD5 this is, counted from 1: its file gets
    ///   `~1`, `~2`, …
    public static func path(for key: CacheKey, collision: Int = 0) -> String {
        let name = key.hashedName
        let second = name.index(name.startIndex, offsetBy: 2)
        let directories = "\(name[..<second])/\(name[second...].prefix(2))/"
        return collision == 0 ? directories + name : "\(directories)\(name)~\(collision)"
    }
}
