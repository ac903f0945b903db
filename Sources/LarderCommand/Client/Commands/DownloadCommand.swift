import ArgumentParser
import Foundation
import LarderClient
import Primitives

struct DownloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "download", abstract: "Download a URL through the cache.",
        discussion: """
            A fresh entry is returned from the cache; otherwise the URL is downloaded from its origin and stored. \
            Prints the outcome (downloaded, revalidated, joined, stale or cached) and the entry.
            """)

    @Argument(help: "The URL.") var url: String
    @OptionGroup var request: RequestOptions
    @Option("Query parameter to add to the URL. Repeatable.", value: "name=value", name: .customLong("param"))
    var params: [ParameterArgument] = []
    @Option(
        "File to write the body to; - is standard output.", value: "file", name: .shortAndLong, completion: .file())
    var output: String?
    @Flag(help: "Return without waiting for the download.") var background = false
    @OptionGroup var options: ClientOptions

    func validate() throws {
        if background, output != nil {
            throw ValidationError(
                "--background and --output exclude each other, because --background does not wait for the body")
        }
        if options.json, output == "-" {
            throw ValidationError("--json and --output - exclude each other, because both print to standard output")
        }
    }

    func run() async throws {
        var request = request.options
        request.params = params.map { ($0.name, $0.value) }
        try await options.perform { client in
            let (json, result) = try await download(request, client)
            if let output, let result {
                try await client.save(result.entry.key, allowsStale: true, to: output)
                if output == "-" { return }
            }
            var report = Report()
            report.add("outcome", result?.outcome.rawValue ?? "started")
            if let result {
                result.entry.add(to: &report, now: Date())
            } else {
                report.add("url", json["url"]?.stringValue ?? url)
                report.add("key", json["key"]?.stringValue ?? "")
            }
            try options.print(json, or: report)
        }
    }

    private func download(
        _ request: DownloadOptions, _ client: APIClient
    ) async throws -> (json: JSON, result: DownloadedEntry?) {
        let canonical = try? CanonicalURL(url).string
        let draws = Console.error.canRedraw && !options.json && !background && params.isEmpty
        return try await withThrowingTaskGroup(of: Void.self) { group in
            if draws {
                group.addTask {
                    var display = ProgressDisplay(.error)
                    await ProgressPoll.run(client) { running in
                        let own = running.first { $0.url == canonical }
                        display.draw { width in own.map { [$0.progress(width: width)] } ?? [] }
                    }
                    display.clear()
                }
            }
            defer { group.cancelAll() }
            return try await client.download(url, request, waits: !background)
        }
    }
}
