/// Paths in the hashed layout, relative to the namespace's directory: `ab/cd/abcd…`, two levels of 256 directories.
package enum HashedPath {
    package static func path(for key: CacheKey) -> String {
        let name = key.hashedName
        let second = name.index(name.startIndex, offsetBy: 2)
        return "\(name[..<second])/\(name[second...].prefix(2))/\(name)"
    }
}
