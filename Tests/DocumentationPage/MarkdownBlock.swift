import Primitives

/// A block of the small part of Markdown that the descriptions in openapi.yaml use: <https://spec.commonmark.org>, and
/// tables. A text in no other form is a paragraph. Blocks are not nested.
enum MarkdownBlock: Hashable, Sendable {
    /// Words over any number of lines.
    case paragraph(String)
    /// Items that begin with `-`, or, in an ordered list, with a number and a dot.
    case list([String], isOrdered: Bool)
    /// Rows of cells, the titles first. (No cell contains a `|`.)
    case table([[String]])
    /// The lines between two lines of three backticks. The first line of backticks may name the language.
    case code(String, language: String)

    /// Splits a text into its blocks, in order.
    static func blocks(of text: String) -> [MarkdownBlock] {
        var blocks: [MarkdownBlock] = []
        /// Whether the next line of words may continue the last block.
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

    /// Reads a line as the item of a list or the row of a table; `nil` if the line is neither.
    private static func part(_ line: Substring) -> MarkdownBlock? {
        if line.hasPrefix("- ") { return .list([String(line.dropFirst(2))], isOrdered: false) }
        let number = line.prefix { ("0"..."9").contains($0) }
        if !number.isEmpty, line[number.endIndex...].hasPrefix(". ") {
            return .list([String(line[number.endIndex...].dropFirst(2))], isOrdered: true)
        }
        guard line.hasPrefix("|") else { return nil }
        // The line between the titles and the rows has no cells.
        if line.allSatisfy({ "|-: ".contains($0) }) { return .table([]) }
        let cells = line.split(separator: "|").map { String($0.trimming { $0 == " " }) }
        return .table([cells])
    }

    /// Returns the block with one more line of words; `nil` for a table or code, which takes no line of words.
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
    /// Appends an item or a row to the list or table at the end, or begins a new block.
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
