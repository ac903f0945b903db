import Primitives

/// The internal subset of an XML document: the declarations in its DOCTYPE. Drawing programs declare entities for the
/// names of namespaces there. Other declarations could add markup that this module does not see, so a replay lacks
/// them.
struct EntityDeclarations {
    /// The declared entities, of which each stands for a URL.
    private(set) var entities: [String: [UInt8]] = [:]
    /// Whether all declarations are harmless entities.
    private(set) var isHarmless = true

    private static let longestValue = 255
    /// No replay needs another text for these names (XML 1.0 §4.6).
    private static let predefined: Set<String> = ["amp", "apos", "gt", "lt", "quot"]

    /// `subset`: the text between the brackets.
    init(_ subset: Span<UInt8>) {
        var index = 0
        while true {
            index = subset.skippingSpace(from: index)
            guard index < subset.count else { return }
            if subset.hasPrefix("<!--", at: index), let end = subset.end(of: "-->", from: index + 4) {
                index = end
            } else if let end = readEntity(subset, from: index) {
                index = end
            } else {
                isHarmless = false
                return
            }
        }
    }

    /// Reads `<!ENTITY NAME "URL">`. Returns the index behind it; `nil` for any other declaration.
    private mutating func readEntity(_ subset: Span<UInt8>, from start: Int) -> Int? {
        guard subset.hasPrefix("<!ENTITY", at: start) else { return nil }
        let name = subset.skippingSpace(from: start + 8)
        var nameEnd = name
        while nameEnd < subset.count, !subset[nameEnd].isSpace { nameEnd += 1 }
        let quote = subset.skippingSpace(from: nameEnd)
        guard name > start + 8, nameEnd > name, subset[name] != UInt8(ascii: "%"), quote < subset.count,
            subset[quote] == UInt8(ascii: "\"") || subset[quote] == UInt8(ascii: "'"),
            let end = subset.firstIndex(of: subset[quote], from: quote + 1), end - quote <= Self.longestValue
        else { return nil }
        let close = subset.skippingSpace(from: end + 1)
        guard close < subset.count, subset[close] == UInt8(ascii: ">") else { return nil }
        let value = subset.array(quote + 1..<end)
        guard value.starts(with: "http://".utf8) || value.starts(with: "https://".utf8),
            value.allSatisfy(\.isEntityByte), nameEnd - name <= EntityName.limit
        else { return nil }
        // The first declaration of a name counts.
        let key = subset.text(name..<nameEnd)
        guard !Self.predefined.contains(key) else { return nil }
        if entities[key] == nil { entities[key] = value }
        return close + 1
    }
}

extension UInt8 {
    /// Whether the byte may be in the text of an entity. Other bytes can begin or end a URL in an attribute or in CSS.
    fileprivate var isEntityByte: Bool { isAlphanumeric || "-._~:/?#@!$*+=".utf8.contains(self) }
}
