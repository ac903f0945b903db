import Foundation

/// A page of HTML, taken apart by its tags: enough to see what is in it, as far as every `<` that is no tag is escaped.
struct PageText {
    let text: String

    /// One tag.
    struct Tag {
        let name: String
        let isClosing: Bool
        let attributes: [Attribute]
    }

    struct Attribute {
        let name: String
        let value: String
    }

    init(_ text: String) {
        self.text = text
    }

    /// Every tag, in order.
    var tags: [Tag] {
        text.matches(of: /<(\/?)([a-z][a-z0-9]*)([^<>]*)>/).map { match in
            let attributes = match.output.3.matches(of: /([a-z-]+)="([^"]*)"/)
            return Tag(
                name: String(match.output.2), isClosing: !match.output.1.isEmpty,
                attributes: attributes.map { Attribute(name: String($0.output.1), value: String($0.output.2)) })
        }
    }

    /// The values of an attribute, in order.
    func values(of attribute: String) -> [String] {
        tags.flatMap(\.attributes).filter { $0.name == attribute }.map(\.value)
    }

    /// What is wrong with the tags: those that are closed without being open, or stay open; none when all is well.
    var imbalances: [String] {
        var open: [String] = []
        var found: [String] = []
        for tag in tags where !["meta", "link"].contains(tag.name) {
            if !tag.isClosing {
                open.append(tag.name)
            } else if open.popLast() != tag.name {
                found.append("</\(tag.name)> closes nothing")
            }
        }
        return found + open.map { "<\($0)> is not closed" }
    }

    /// How many `<` are no beginning of a tag: none but that of the document type.
    var strayCount: Int { text.count { $0 == "<" } - tags.count }

    /// What stands in the element `article` with this id; `nil` when there is none.
    func article(_ id: String) -> String? {
        guard let start = text.range(of: "<article id=\"\(id)\">"),
            let end = text.range(of: "</article>", range: start.upperBound..<text.endIndex)
        else { return nil }
        return String(text[start.upperBound..<end.lowerBound])
    }

    /// Text as it was before it was escaped.
    static func unescaped(_ text: String) -> String {
        let characters = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
        return characters.reduce(text) { $0.replacing($1.0, with: $1.1) }
    }
}
