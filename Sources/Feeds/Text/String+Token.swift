extension String {
    /// The text in lower case, to compare it with the words of a vocabulary; `nil` if it has over 200 bytes or
    /// characters outside ASCII, and so is none of these words. `String` takes microseconds for each accent.
    var asToken: String? {
        utf8.count <= 200 && utf8.allSatisfy { $0 < 0x80 } ? lowercased() : nil
    }
}
