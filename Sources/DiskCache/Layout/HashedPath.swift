/// Paths of bodies in the hashed layout, relative to the namespace's directory: `ab/cd/abcd…`, two levels of 256
/// directories.
package enum HashedPath {
    /// Returns the path of the body of `key`.
    ///
    /// - Parameter collision: 0, or the number of the key among the callers' keys with the same MD5, counted from 1.
    ///   The file name then ends in `~1`, `~2`, …
    package static func path(for key: CacheKey, collision: Int = 0) -> String {
        let name = key.hashedName
        let second = name.index(name.startIndex, offsetBy: 2)
        let directories = "\(name[..<second])/\(name[second...].prefix(2))/"
        return collision == 0 ? directories + name : "\(directories)\(name)~\(collision)"
    }
}
