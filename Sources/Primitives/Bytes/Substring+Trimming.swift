extension StringProtocol where SubSequence == Substring {
    /// Removes SP and HTAB from both ends (RFC 9110 §5.6.3).
    package func trimmingSpace() -> Substring {
        self[...].trimming { $0 == " " || $0 == "\t" }
    }
}

extension Substring {
    /// Removes from both ends the characters for which `predicate` returns `true`; empty when it returns `true` for
    /// all.
    package func trimming(while predicate: (Character) -> Bool) -> Substring {
        let start = drop(while: predicate)
        guard let end = start.lastIndex(where: { !predicate($0) }) else { return "" }
        return start[...end]
    }
}
