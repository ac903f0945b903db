import Primitives

/// A block of the small part of Markdown that openapi.yaml has in its descriptions: <https://spec.commonmark.org>, and
/// tables. What is in none of its forms is a paragraph. Blocks are not nested.
enum MarkdownBlock: Hashable, Sendable {
    /// Words over any number of lines.
    case paragraph(String)
    /// Items that begin with `-`, or, when it is ordered, with a number and a dot.
    case list([String], isOrdered: Bool)
    /// Rows of cells, the titles first. (No cell has a `|` in it.)
    case table([[String]])
    /// Between lines of three backticks, the first of which may name the language.
    case code(String, language: String)

    /// The blocks of a text, in order.
    static func blocks(of text: String) -> [MarkdownBlock] {
        var blocks: [MarkdownBlock] = []
        /// Whether a line of words goes on with the last block.
        var isOpen = false
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)[...]
        while let line = lines.popFirst() {
            let words = line.trimming { $0 == " " }
            if words.isEmpty {
                isOpen = false
            } else if words.hasPrefix("```") {
                let code = lines.prefix { !$0.trimming { $0 == " " }.hasPrefix("```") }
                lines = lines.dropFirst(code.count + 1)
                blocks.append(.code(code.joined(separator: "\n"), language: String(words.dropFirst(3))))
                isOpen = false
            } else if let block = part(words) {
                blocks.add(block)
                isOpen = true
            } else if isOpen, let longer = blocks.last?.continued(by: String(words)) {
                blocks[blocks.endIndex - 1] = longer
            } else {
                blocks.append(.paragraph(String(words)))
                isOpen = true
            }
        }
        return blocks
    }

    /// The item of a list or the row of a table that a line is; `nil` when it is neither.
    private static func part(_ line: Substring) -> MarkdownBlock? {
        if line.hasPrefix("- ") { return .list([String(line.dropFirst(2))], isOrdered: false) }
        let number = line.prefix { ("0"..."9").contains($0) }
        if !number.isEmpty, line[number.endIndex...].hasPrefix(". ") {
            return .list([String(line[number.endIndex...].dropFirst(2))], isOrdered: true)
        }
        guard line.hasPrefix("|") else { return nil }
        // The line under the titles.
        if line.allSatisfy({ "|-: ".contains($0) }) { return .table([]) }
        let cells = line.split(separator: "|").map { String($0.trimming { $0 == " " }) }
        return .table([cells])
    }

    /// The block with one more line of words; `nil` when it takes none.
    private func continued(by words: String) -> MarkdownBlock? {
        switch self {
        case .paragraph(let text): .paragraph(text + "\n" + words)
        case .list(let items, let isOrdered):
            .list(Array(items.dropLast()) + items.suffix(1).map { $0 + "\n" + words }, isOrdered: isOrdered)
        case .table, .code: nil
        }
    }
}

extension [MarkdownBlock] {
    /// Adds an item or a row, to the list or the table at the end if there is one.
    fileprivate mutating func add(_ block: MarkdownBlock) {
        switch (last, block) {
        case (.list(let items, isOrdered: true)?, .list(let more, isOrdered: true)):
            self[endIndex - 1] = .list(items + more, isOrdered: true)
        case (.list(let items, isOrdered: false)?, .list(let more, isOrdered: false)):
            self[endIndex - 1] = .list(items + more, isOrdered: false)
        case (.table(let rows)?, .table(let more)): self[endIndex - 1] = .table(rows + more)
        default: append(block)
        }
    }
}
