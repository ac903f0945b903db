/// The keys of all responses to a URL; see ``CacheKey``.
enum ResponseKeys {
    /// The condition for a key between ``bounds(ofMD5:)`` that is the key of a response, and not a caller's own key
    /// with the same beginning. The index of the keys alone can answer it.
    static func condition(on column: String = "key") -> String {
        "\(column) > ? AND \(column) < ? AND length(\(column)) = 41 AND substr(\(column), 34) NOT GLOB '*[^0-9a-f]*'"
    }

    /// The texts between which the keys lie: a slash is the character after the dot.
    static func bounds(ofMD5 md5: String) -> (first: String, last: String) { (md5 + ".", md5 + "/") }
}
