import Foundation
import Larder
import TestSupport
import Testing

/// Checks the tables and links of the documents. scripts/check-docs runs the commands that the documents show.
@Suite("README and docs")
struct RepositoryDocumentTests {
    @Test("docs/options.md has every option in the order of the help, with its default")
    func options() throws {
        let rows = try RepositoryDocument("docs/options.md").rows.map { cells in
            cells.map { $0.replacing("`", with: "") }
        }
        #expect(rows.compactMap(\.first) == Setting.all.map(\.flag))
        for (cells, setting) in zip(rows, Setting.all) {
            #expect(cells.count == 3 && cells[1].contains(setting.defaultText), "\(setting.name): \(cells)")
        }
    }

    @Test("docs/api.md has every call of openapi.yaml, and no other call")
    func calls() throws {
        var listed: Set<String> = []
        var path = ""
        for cells in try RepositoryDocument("docs/api.md").rows where cells.count == 4 {
            if !cells[0].isEmpty { path = cells[0].replacing("`", with: "") }
            listed.insert("\(cells[1].replacing("`", with: "")) \(path)")
        }
        let operations = try OpenAPIDocument.repository().operations
        let open = Set(operations.filter { $0.takesRest && $0.method == "POST" }.map(\.path))
        let described = operations.filter { $0.method != "HEAD" }.map { operation in
            "\(open.contains(operation.path) ? "any" : operation.method) \(operation.path)"
        }
        #expect(listed == Set(described))
    }

    @Test("docs/operations.md names exactly the metrics that exist")
    func metrics() async throws {
        try await TestServer.with { (server) async throws in
            let metrics = try await server.get("/metrics").text
            let document = try RepositoryDocument("docs/operations.md").text
            let families = metrics.matches(of: /(?m)^# TYPE (\S+)/).map { String($0.output.1) }
            let named = document.matches(of: /`((?:larder|process)_[a-z_]+)`/).map { String($0.output.1) }
            #expect(Set(named) == Set(families))
        }
    }

    @Test("docs/design.md names the speed of mixed calls that Benchmarks/results/mixed.json contains")
    func mixedRate() throws {
        let results = try JSONValue(parsing: RepositoryDocument("Benchmarks/results/mixed.json").text.utf8)
        let row = results["rows"]?.arrayValue?.first { $0["name"]?.stringValue == "Larder, mixed" }
        let median = row?["ratios"]?["requestsPerSecond"]?["median"]?.numberValue
        let measured = String(format: "%.2f", try #require(median))
        let design = try RepositoryDocument("docs/design.md").text
        let said = design.firstMatch(of: /reaches ([0-9.]+) of the requests\/s of hits alone/)
        #expect(try #require(said).output.1 == measured)
    }

    @Test("Every link to a place within the repository has a target")
    func links() throws {
        let documents = try RepositoryDocument.all()
        var count = 0
        for document in documents {
            for link in document.links {
                count += 1
                let target = document.target(of: link)
                #expect(target.map { RepositoryDocument.exists($0) } ?? true, "\(document.path): \(link)")
                guard let place = link.split(separator: "#", omittingEmptySubsequences: false).dropFirst().first else {
                    continue
                }
                let other = try target.map { try RepositoryDocument(String($0.dropFirst())) } ?? document
                #expect(other.anchors.contains(String(place)), "\(document.path): \(link)")
            }
        }
        #expect(count > 30)
    }
}
