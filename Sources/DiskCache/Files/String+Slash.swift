extension Substring {
    /// Where the last slash of a path stands. By bytes: one with an accent behind it is another `Character`.
    var lastSlash: Index? { utf8.lastIndex(of: UInt8(ascii: "/")) }
}

extension String {
    /// See ``Substring/lastSlash``.
    var lastSlash: Index? { self[...].lastSlash }
}
