import Foundation

/// An HTML page, split into its tags. ``tags`` is complete if the page escapes every `<` outside of a tag; see
/// ``strayCount``.
struct PageText {
    let text: String

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

    /// All tags, in the order of the page.
    var tags: [Tag] {
        text.matches(of: /<(\/?)([a-z][a-z0-9]*)([^<>]*)>/).map { match in
            let attributes = match.output.3.matches(of: /([a-z-]+)="([^"]*)"/)
            return Tag(
                name: String(match.output.2), isClosing: !match.output.1.isEmpty,
                attributes: attributes.map { Attribute(name: String($0.output.1), value: String($0.output.2)) })
        }
    }

    /// All values of an attribute, in the order of the page.
    func values(of attribute: String) -> [String] {
        tags.flatMap(\.attributes).filter { $0.name == attribute }.map(\.value)
    }

    /// The errors in the nesting of tags: tags that are closed without being open, and tags that stay open. Empty for a
    /// well-formed page.
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

    /// The number of `<` that do not begin a tag. A correct page has 1, in the document type.
    var strayCount: Int { text.count { $0 == "<" } - tags.count }

    /// The content of the element `article` with this id; `nil` when the page has no such article.
    func article(_ id: String) -> String? {
        guard let start = text.range(of: "<article id=\"\(id)\">"),
            let end = text.range(of: "</article>", range: start.upperBound..<text.endIndex)
        else { return nil }
        return String(text[start.upperBound..<end.lowerBound])
    }

    /// Reverses the escaping of HTML text.
    static func unescaped(_ text: String) -> String {
        let characters = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
        return characters.reduce(text) { $0.replacing($1.0, with: $1.1) }
    }
}
