import Primitives

extension WriteContext {
    /// Makes room for another response to the URL of `key`. At the limit, the response that was stored or confirmed
    /// longest ago is evicted. Returns `false` when all responses are pinned.
    func makeRoomForVariant(of key: CacheKey) throws -> Bool {
        guard try index.hasFullVariants(ofMD5: key.md5Hex) else { return true }
        let excess = try index.variantCount(ofMD5: key.md5Hex) - (Entry.variantLimit - 1)
        let oldest = try index.oldestVariants(ofMD5: key.md5Hex, limit: excess)
        for row in oldest { try remove(row, because: .variants, as: .evicted) }
        return !oldest.isEmpty
    }

    /// Makes room for `length` bytes of fields of a response to the URL of `key`. While all fields together have too
    /// many bytes, the response that was stored or confirmed longest ago is evicted. Returns `false`, and evicts no
    /// response, when the pinned responses leave no room. An entry `old` that exists already stays, however little room
    /// there is: then the result is always `true`.
    func makeRoomForFields(of key: CacheKey, length: Int, replacing old: Entry?) throws -> Bool {
        let oldLength = old?.fieldsLength ?? 0
        let limit = Entry.variantFieldsLimit - length
        guard length > oldLength, try index.hasFields(ofMD5: key.md5Hex, longerThan: limit + oldLength) else {
            return true
        }
        let others = try index.variantFields(ofMD5: key.md5Hex, but: key.text)
        var held = others.reduce(0) { $0 + $1.length }
        var oldest: [Int64] = []
        for other in others where !other.isPinned && held > limit {
            held -= other.length
            oldest.append(other.id)
        }
        // The fields of a single response may have any length.
        let hasRoom = held <= limit || oldest.count == others.count
        guard hasRoom || old != nil else { return false }
        for id in oldest {
            if let row = try index.row(forID: id) { try remove(row, because: .variants, as: .evicted) }
        }
        return true
    }
}
