/// The keys of all responses to one URL: its MD5, a dot, 8 hexadecimal digits; see ``CacheKey``.
enum ResponseKeys {
    /// What is between ``bounds(ofMD5:)`` and is one of them, and not a key of a caller's that begins alike. The index
    /// of keys alone tells.
    ///
    /// - Parameter column: the key's, as the query has to call it.
    static func condition(on column: String = "key") -> String {
        "\(column) > ? AND \(column) < ? AND length(\(column)) = 41 AND substr(\(column), 34) NOT GLOB '*[^0-9a-f]*'"
    }

    /// What they are between: a slash is the character after the dot.
    static func bounds(ofMD5 md5: String) -> (first: String, last: String) { (md5 + ".", md5 + "/") }
}
