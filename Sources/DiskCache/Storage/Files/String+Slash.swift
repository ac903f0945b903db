extension Substring {
    /// Searches the bytes, because a slash with a combining accent behind it is another `Character`.
    var lastSlash: Index? { utf8.lastIndex(of: UInt8(ascii: "/")) }
}

extension String {
    var lastSlash: Index? { self[...].lastSlash }
}
