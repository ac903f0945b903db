import Primitives

/// Converts Markdown descriptions to HTML. Within a line, the converter knows `code`, **strong**, *emphasis* and links
/// of the form <https://…>. The rest is plain text, markup included.
enum Markdown {
    /// Converts a text of any number of blocks.
    static func html(_ text: String) -> HTML {
        MarkdownBlock.blocks(of: text).map(html).joined()
    }

    /// Converts the text of a single line, without blocks.
    static func inline(_ text: String) -> HTML {
        var html: HTML = ""
        var rest = text[...]
        while let mark = rest.firstIndex(where: { "`*<".contains($0) }) {
            html += "\(String(rest[..<mark]))"
            rest = rest[mark...]
            if let (piece, others) = span(rest) {
                html += piece
                rest = others
            } else {
                html += "\(String(rest.removeFirst()))"
            }
        }
        return html + "\(String(rest))"
    }

    /// Splits a shell text into commands: one per line. A line that ends with `\` or `|` continues on the next line.
    static func commands(_ text: String) -> [String] {
        var commands: [String] = []
        var goesOn = false
        for line in text.split(separator: "\n") {
            if goesOn {
                commands[commands.endIndex - 1] += "\n" + line
            } else {
                commands.append(String(line))
            }
            goesOn = line.hasSuffix("\\") || line.hasSuffix("|")
        }
        return commands
    }

    private static func html(_ block: MarkdownBlock) -> HTML {
        switch block {
        case .paragraph(let words): return "<p>\(inline(words))</p>\n"
        case .list(let items, let isOrdered):
            let list = items.map { "<li>\(inline($0))</li>\n" as HTML }.joined()
            return isOrdered ? "<ol>\n\(list)</ol>\n" : "<ul>\n\(list)</ul>\n"
        case .table(let rows):
            let titles = row(rows.first ?? []) { "<th scope=\"col\">\($0)</th>" }
            let others = rows.dropFirst().map { row($0) { "<td>\($0)</td>" } }.joined()
            return "<table>\n<thead>\n\(titles)</thead>\n<tbody>\n\(others)</tbody>\n</table>\n"
        // Each command gets a block of its own, so that a reader can copy it alone.
        case .code(let text, language: "sh"):
            return commands(text).map { "<pre class=\"command\"><code>\($0)</code></pre>\n" as HTML }.joined()
        case .code(let text, language: _): return "<pre><code>\(text)</code></pre>\n"
        }
    }

    private static func row(_ cells: [String], _ cell: (HTML) -> HTML) -> HTML {
        "<tr>\(cells.map { cell(inline($0)) }.joined())</tr>\n"
    }

    /// Converts the code, strong, emphasis or link at the start of a text, and returns the rest of the text; `nil` if
    /// the text starts with none of these.
    private static func span(_ text: Substring) -> (HTML, rest: Substring)? {
        if let (code, rest) = between("`", "`", text) { return ("<code>\(code)</code>", rest) }
        if let (words, rest) = between("**", "**", text) { return ("<strong>\(inline(words))</strong>", rest) }
        if let (words, rest) = between("*", "*", text) { return ("<em>\(inline(words))</em>", rest) }
        guard let (url, rest) = between("<", ">", text), url.hasPrefix("https://") || url.hasPrefix("http://") else {
            return nil
        }
        return ("<a href=\"\(url)\">\(url)</a>", rest)
    }

    /// Returns the text between two marks, and the rest behind the second mark. `nil` if a mark is missing, or the text
    /// between them is empty or begins with a space.
    private static func between(_ first: String, _ second: String, _ text: Substring) -> (String, rest: Substring)? {
        guard text.hasPrefix(first) else { return nil }
        let inner = text.dropFirst(first.count)
        guard let end = inner.firstRange(of: second), end.lowerBound > inner.startIndex, inner.first != " " else {
            return nil
        }
        return (String(inner[..<end.lowerBound]), inner[end.upperBound...])
    }
}
