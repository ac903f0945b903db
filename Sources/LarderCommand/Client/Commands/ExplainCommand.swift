import ArgumentParser
import Foundation
import LarderClient

struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Show the state of a URL in the cache, and whether a request would be a hit.",
        discussion: """
            Prints the canonical URL, the key, the file, and why "larder download" would be a hit or a miss. \
            Contacts no origin and changes nothing. Exit status \(ExitStatus.notHeld.rawValue): a miss.
            """)

    @Argument(help: "The URL.") var url: String
    @OptionGroup var options: ClientOptions

    func run() async throws {
        try await options.perform { client in
            let explanation = try await client.explain(url)
            try options.print(explanation.json, or: explanation.report(now: Date()))
            if !explanation.isHit { throw ExitStatus.notHeld.code }
        }
    }
}

extension Explanation {
    func report(now: Date) -> Report {
        var report = Report()
        report.add("url", url)
        report.add("key", key)
        report.add("namespace", namespace)
        let place = entry == nil ? "in the slab, or in a file named by the key if the body is large" : "in the slab"
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
