import ArgumentParser
import LarderClient
import Primitives

/// `larder rm`: removes entries.
struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm", abstract: "Remove what is held.",
        discussion: """
            By key or URL, or all that is selected. A key that is the MD5 of a URL, and a URL, mean all that is held \
            for it: what was downloaded or stored, and what /fetch has. It ends when the removal is durable; what was \
            removed does not come back.
            """)

    @Argument(help: "Keys and URLs.")
    var entries: [String] = []
    @OptionGroup(title: "Which") var which: SelectionOptions
    @Flag(name: .long, help: "Everything in the namespace.")
    var all = false
    @Flag(name: .long, help: "Only count what would be removed; not of a key.")
    var dryRun = false
    @OptionGroup var options: ClientOptions

    func validate() throws {
        let ways = [!entries.isEmpty, !which.selection.isEmpty, all].count { $0 }
        guard ways > 0 else { throw ValidationError("say what to remove: keys, URLs, a selection as --tag, or --all") }
        guard ways == 1 else { throw ValidationError("keys and URLs, a selection and --all exclude one another") }
        let hasKey = entries.contains { if case .key = EntryReference($0) { true } else { false } }
        guard !dryRun || !hasKey else { throw ValidationError("--dry-run counts what is selected, or held for a URL") }
    }

    func run() async throws {
        try await options.perform { client in
            var count: Int64 = 0
            var isMissing = false
            for entry in entries {
                let removed = try await remove(EntryReference(entry), client)
                count = count.addingClamped(removed)
                guard removed == 0 else { continue }
                isMissing = true
                if !options.json { try Console.error.print("\(LogText.words(entry)): nothing is held") }
            }
            if entries.isEmpty { count = try await client.remove(which.selection, onlyCounts: dryRun) }
            if options.json {
                try Console.output.print(json: ["removed": .number(count)])
            } else {
                var report = Report()
                report.add(dryRun ? "would be removed" : "removed", String(count))
                try report.print()
            }
            if isMissing { throw ExitStatus.notHeld.code }
        }
    }

    /// Removes the entries of a key or URL, and returns their number. A missing entry is no error here.
    private func remove(_ reference: EntryReference, _ client: APIClient) async throws -> Int64 {
        switch reference {
        case .url(let url):
            var selection = EntrySelection()
            selection.url = url
            return try await client.remove(selection, onlyCounts: dryRun)
        case .key(let key):
            do {
                return try await client.remove(key: key)
            } catch ClientError.refused(let problem) where problem.status == 404 {
                return 0
            }
        }
    }
}
