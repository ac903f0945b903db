import Primitives

/// Reads the field `Link` (RFC 8288 §3).
enum LinkField {
    /// The target of the first link with a relation such as `next`, in any case; `nil` if there is none. `lines` are
    /// the values of all `Link` fields. A link with `anchor` has another context, and does not count.
    static func target(of relation: String, in lines: [String]) -> String? {
        for line in lines {
            var reader = LinkReader(bytes: Array(line.utf8))
            while let link = reader.next() {
                let types = link.relations?.lowercased().split(separator: " ") ?? []
                if !link.hasAnchor, types.contains(where: { $0 == relation }) { return link.target }
            }
        }
        return nil
    }
}

/// Reads the links of one line.
private struct LinkReader {
    struct Link {
        var target: String
        /// The first `rel`; later ones do not count (RFC 8288 §3.3).
        var relations: String?
        var hasAnchor = false
    }

    let bytes: [UInt8]
    var index = 0

    /// `nil` at the end, and at a text that is no link.
    mutating func next() -> Link? {
        skip { $0.isFieldSpace || $0 == UInt8(ascii: ",") }
        guard take(UInt8(ascii: "<")) else { return nil }
        let target = text { $0 != UInt8(ascii: ">") }
        guard take(UInt8(ascii: ">")) else { return nil }
        var link = Link(target: target)
        while true {
            skip(\.isFieldSpace)
            guard take(UInt8(ascii: ";")) else { return link }
            skip(\.isFieldSpace)
            let name = text { !$0.isFieldSpace && !"=;,".utf8.contains($0) }.lowercased()
            skip(\.isFieldSpace)
            var value = ""
            if take(UInt8(ascii: "=")) {
                skip(\.isFieldSpace)
                value = take(UInt8(ascii: "\"")) ? quoted() : text { !$0.isFieldSpace && !";,".utf8.contains($0) }
            }
            switch name {
            case "rel": link.relations = link.relations ?? value
            case "anchor": link.hasAnchor = true
            default: break
            }
        }
    }

    /// The rest of a quoted string, without its escapes (RFC 9110 §5.6.4).
    private mutating func quoted() -> String {
        var output: [UInt8] = []
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            if bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count { index += 1 }
            output.append(bytes[index])
            index += 1
        }
        index = min(index + 1, bytes.count)
        return String(decoding: output, as: UTF8.self)
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }

    private mutating func skip(_ matches: (UInt8) -> Bool) {
        while index < bytes.count, matches(bytes[index]) { index += 1 }
    }

    private mutating func text(_ matches: (UInt8) -> Bool) -> String {
        let start = index
        skip(matches)
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate var isFieldSpace: Bool { self == 0x20 || self == 0x09 }
}
