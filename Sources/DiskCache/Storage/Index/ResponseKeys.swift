/// The keys of all responses to a URL: the MD5 of the URL, a dot, and 8 hexadecimal digits; see ``CacheKey``.
enum ResponseKeys {
    /// Returns the condition for a key between ``bounds(ofMD5:)`` that is the key of a response, and not a caller's own
    /// key with the same beginning. The index of the keys alone can answer it.
    ///
    /// - Parameter column: the name of the key's column in the query.
    static func condition(on column: String = "key") -> String {
        "\(column) > ? AND \(column) < ? AND length(\(column)) = 41 AND substr(\(column), 34) NOT GLOB '*[^0-9a-f]*'"
    }

    /// Returns the texts between which the keys lie: a slash is the character after the dot.
    static func bounds(ofMD5 md5: String) -> (first: String, last: String) { (md5 + ".", md5 + "/") }
}
