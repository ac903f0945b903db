extension Substring {
    /// The index of the last slash of a path. Searches the bytes, because a slash with a combining accent behind it is
    /// another `Character`.
    var lastSlash: Index? { utf8.lastIndex(of: UInt8(ascii: "/")) }
}

extension String {
    /// See ``Substring/lastSlash``.
    var lastSlash: Index? { self[...].lastSlash }
}
