import Primitives
import TestSupport
import Testing

@testable import LarderAPI

@Suite("The commands of /docs")
struct DocumentationCommandTests {
    /// The words of the one `curl` in a command, as a shell takes it apart; `nil` when it does not, or leaves something
    /// to chance: a pattern of files, a process in the background.
    private static func words(of command: String) async throws -> [String]? {
        let script = """
            curl() { printf curl; printf '\\037%s' "$@"; echo; }
            \(command)
            [ -z "$!" ]
            """
        let output = try await blocking { try ChildProcess.run("bash", ["-O", "failglob", "-c", script]) }
        let lines = output.text.split(separator: "\n")
        guard output.exit == .status(0), lines.count == 1, lines[0].hasPrefix("curl\u{1F}") else { return nil }
        return lines[0].split(separator: "\u{1F}", omittingEmptySubsequences: false).dropFirst().map { String($0) }
    }

    /// The method that curl uses: the one that it is told, or what its other options come to.
    private static func method(_ words: [String]) -> String {
        if let index = words.firstIndex(of: "-X") { return words[index + 1] }
        if words.contains("-I") { return "HEAD" }
        if words.contains("-T") { return "PUT" }
        let hasData = words.contains { ["-d", "--data-binary", "--data-urlencode"].contains($0) }
        return hasData && !words.contains("-G") ? "POST" : "GET"
    }

    @Test("each is one that a shell takes as it stands, and makes the call that it stands beside")
    func commands() async throws {
        let server = "http://127.0.0.1:8080"
        let document = try OpenAPIDocument.repository()
        let page = PageText(
            try DocumentationPage(description: APIDescription(JSON(yaml: OpenAPIDocument.repositoryText()))).html.text)
        for operation in document.operations {
            let article = try #require(page.article(operation.id), "\(operation.id)")
            let commands = article.matches(of: /<pre class="command"><code>([^<]*)<\/code>/).map {
                PageText.unescaped(String($0.output.1))
            }
            #expect(!commands.isEmpty, "\(operation.id)")
            for command in commands {
                let words = try #require(try await Self.words(of: command), "\(command)")
                let urls = words.filter { $0.hasPrefix(server) }
                #expect(urls.count == 1, "\(command)")
                let target = String((urls.first ?? "").dropFirst(server.count))
                let called = document.operation(method: Self.method(words), target: target)
                #expect(called?.id == operation.id, "\(command)")
            }
        }
    }
}
