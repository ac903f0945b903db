import Foundation

/// A Markdown document of the repository.
struct RepositoryDocument: Sendable {
    /// The path from the top of the repository, such as `docs/api.md`.
    let path: String
    let text: String

    private static let root: URL = {
        var root = URL(filePath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        return root
    }()

    /// Throws when the document does not exist.
    init(_ path: String) throws {
        self.path = path
        text = try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    /// README.md, SECURITY.md, CONTRIBUTING.md, CHANGELOG.md, and all Markdown documents of `docs`.
    static func all() throws -> [RepositoryDocument] {
        let docs = try FileManager.default.contentsOfDirectory(atPath: root.appending(path: "docs").path)
        let top = ["README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        let paths = top + docs.sorted().map { "docs/\($0)" }
        return try paths.filter { $0.hasSuffix(".md") }.map(RepositoryDocument.init)
    }

    /// The rows of all tables as trimmed cells, without title rows.
    var rows: [[String]] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.indices.filter { index in
            // A title row stands above a line of dashes.
            lines[index].hasPrefix("| ") && !(lines.indices.contains(index + 1) && lines[index + 1].hasPrefix("|--"))
        }.map { index in
            lines[index].dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false).map {
                $0.trimmingCharacters(in: .whitespaces)
            }
        }
    }

    /// The targets of all links, as they are written. Links within code and links to other servers are left out.
    var links: [String] {
        let prose = text.replacing(/```[^`]*```/, with: "").replacing(/`[^`\n]*`/, with: "")
        return prose.matches(of: /\]\(([^)\s]+)\)/).map { String($0.output.1) }.filter { !$0.contains("://") }
    }

    /// The anchors of the headings, as GitHub names them.
    var anchors: Set<String> {
        Set(
            text.matches(of: /(?m)^#+ (.+)$/).map { match in
                match.output.1.lowercased().filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }
                    .replacing(" ", with: "-")
            })
    }

    /// The path in the repository that a link points to; `nil` for a link within this document.
    func target(of link: String) -> String? {
        let file = String(link.prefix { $0 != "#" })
        guard !file.isEmpty else { return nil }
        return URL(filePath: "/\(path)").deletingLastPathComponent().appending(path: file).standardized.path
    }

    /// Whether a file exists at this path from the top of the repository.
    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.path + path)
    }
}
