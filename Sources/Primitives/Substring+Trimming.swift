extension Substring {
    /// What is left when the characters of a kind are taken away from both ends.
    public func trimming(while predicate: (Character) -> Bool) -> Substring {
        let start = drop(while: predicate)
        guard let end = start.lastIndex(where: { !predicate($0) }) else { return "" }
        return start[...end]
    }
}
