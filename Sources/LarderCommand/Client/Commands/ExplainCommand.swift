import ArgumentParser
import Foundation
import LarderClient

/// `larder explain`: shows the cache's view of a URL.
struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Say what a URL is to the cache, and whether it would be a hit.",
        discussion: """
            The canonical URL, the key, the file, and why "larder download" of it would be a hit or none. No origin is \
            asked, and nothing changes. It ends with \(ExitStatus.notHeld.rawValue) when it would be no hit.
            """)

    @Argument(help: "The URL.")
    var url: String
    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { client in
            let explanation = try await client.explain(url)
            if options.json {
                try Console.output.print(json: explanation.json)
            } else {
                try explanation.report(now: Date()).print()
            }
            if !explanation.isHit { throw ExitStatus.notHeld.code }
        }
    }
}

extension Explanation {
    /// The explanation, a line for each fact.
    func report(now: Date) -> Report {
        var report = Report()
        report.add("url", url)
        report.add("key", key)
        report.add("namespace", namespace)
        let place = entry == nil ? "in the slab, or, when it is large, a file named by the key" : "in the slab"
        report.add("file", Cell(plain: localPath ?? "", words: localPath ?? place))
        report.add("hit", isHit ? "yes" : "no")
        report.add("why", detail)
        if let entry {
            report.add("expires", Cell(instant: entry.expiryDate, now: now))
            report.add("size", Cell(bytes: entry.contentLength))
        }
        for response in responses {
            let words = "\(response.isFresh ? "fresh" : "stale"), \(Words.bytes(response.contentLength))"
            report.add("/fetch", Cell(plain: response.key, words: "\(response.key) \(words)"))
        }
        return report
    }
}
