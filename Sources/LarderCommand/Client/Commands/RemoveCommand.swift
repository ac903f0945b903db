import ArgumentParser
import LarderClient
import Primitives

struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm", abstract: "Remove entries.",
        discussion: """
            Removes entries by key or URL, or all selected entries. A URL, and a key that is the MD5 of a URL, select \
            all entries of the URL: downloads, stored JSON and responses of /fetch. Returns when the removal is \
            durable; removed entries do not come back.
            """)

    @Argument(help: "Keys and URLs of the entries.") var entries: [String] = []
    @OptionGroup(title: "Selection") var which: SelectionOptions
    @Flag(help: "Remove every entry of the namespace.") var all = false
    @Flag(help: "Only count the entries to remove; not supported for keys.") var dryRun = false
    @OptionGroup var options: ClientOptions

    func validate() throws {
        let ways = [!entries.isEmpty, which.selection.contains { $0.value != nil }, all].count { $0 }
        guard ways > 0 else {
            throw ValidationError("no entries selected; give keys, URLs, a selection such as --tag, or --all")
        }
        guard ways == 1 else {
            throw ValidationError("keys and URLs, a selection, and --all exclude each other; give only one of these")
        }
        let hasKey = entries.contains { if case .key = EntryReference($0) { true } else { false } }
        guard !dryRun || !hasKey else {
            throw ValidationError("--dry-run does not support keys; give a URL, a selection or --all")
        }
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
                if !options.json { try Console.error.print("\(LogText.words(entry)): no entry") }
            }
            if entries.isEmpty { count = try await client.remove(which.selection, onlyCounts: dryRun) }
            var report = Report()
            report.add(dryRun ? "would be removed" : "removed", String(count))
            try options.print(["removed": .number(count)], or: report)
            if isMissing { throw ExitStatus.notHeld.code }
        }
    }

    /// Returns 0 for a missing entry, which is no error here.
    private func remove(_ reference: EntryReference, _ client: APIClient) async throws -> Int64 {
        switch reference {
        case .url(let url):
            return try await client.remove([("url", url)], onlyCounts: dryRun)
        case .key(let key):
            do {
                return try await client.remove(key: key)
            } catch ClientError.refused(let problem) where problem.status == 404 {
                return 0
            }
        }
    }
}
