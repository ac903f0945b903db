import Primitives
import TestSupport
import Testing

@testable import DocumentationPage

@Suite("The commands of /docs")
struct DocumentationCommandTests {
    /// The arguments of the only `curl` call in a command, as a shell splits them. The result is `nil` when the shell
    /// fails, or when the command depends on chance: on a file pattern, or on a background process.
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

    /// The method that curl uses: the argument of `-X`, or the method that the other options imply.
    private static func method(_ words: [String]) -> String {
        if let index = words.firstIndex(of: "-X") { return words[index + 1] }
        if words.contains("-I") { return "HEAD" }
        if words.contains("-T") { return "PUT" }
        let hasData = words.contains { ["-d", "--data-binary", "--data-urlencode"].contains($0) }
        return hasData && !words.contains("-G") ? "POST" : "GET"
    }

    @Test("Each command on the page /docs runs unchanged in a shell, and calls the operation that it documents")
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
