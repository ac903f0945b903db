import ArgumentParser
import LarderClient
import Primitives

struct SubscribeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe", abstract: "Hold a set of resources, and refresh it while the server runs.",
        discussion: """
            Give one source: --feed, --sitemap, --pages, --url, --capture, or --file with a whole definition. Replaces \
            the definition of an existing subscription. With --wait, returns after the end of the first refresh, and \
            shows the progress on a terminal; after Ctrl-C the refresh goes on. Exit status with --wait: 0 if the set \
            is complete, \(ExitStatus.partial.rawValue) if resources are missing, \(ExitStatus.failed.rawValue) if the \
            source cannot be read or the set has no room.
            """)

    @Argument(help: "Name of the subscription: letters, digits, dots, underscores and hyphens.") var name: String
    @OptionGroup(title: "Source") var source: SourceOptions
    @Option("Hold only this number of the newest items. [default: all]", value: "number") var latest: Int?
    @Option("Time between two refreshes. [default: 1h]", value: "duration") var interval: Seconds?
    @Option(
        "Bounds of an interval that follows the changes of the source, such as 5m:1d. Excludes --interval.",
        value: "min:max")
    var adaptive: IntervalBounds?
    @Option("Time that the resources stay fresh. [default: until the next refresh]", value: "duration")
    var ttl: Seconds?
    @Option("Pause between two requests to one host. [default: 1s]", value: "duration") var minGap: Seconds?
    @Option("Times in UTC between which no refresh begins, such as 22:00-06:30.", value: "from-to")
    var quietHours: String?
    @Option("Tag of the resources. Repeatable.", value: "tag", name: .customLong("tag")) var tags: [String] = []
    @Option("Name of the credential for the requests; see \"larder credential\".", value: "name")
    var credential: String?
    @Flag(help: "Accept a refresh that drops more than half of the items.") var allowShrink = false
    @Flag(help: "Wait for the end of the first refresh.") var wait = false
    @OptionGroup var options: ClientOptions

    func validate() throws {
        guard interval == nil || adaptive == nil else {
            throw ValidationError("--interval and --adaptive exclude each other; give only one of these")
        }
        if let latest, latest < 1 { throw ValidationError("--latest must be at least 1") }
        guard source.file == nil || !hasDefinitionOption else {
            throw ValidationError(
                "--file has the whole definition, and excludes all options of a definition; write them into the file")
        }
    }

    private var hasDefinitionOption: Bool {
        let values: [Any?] = [latest, interval, adaptive, ttl, minGap, quietHours, credential]
        return values.contains { $0 != nil } || !tags.isEmpty || allowShrink
    }

    func run() async throws {
        try await options.perform { client in
            let started = try await client.subscribe(name, try definition())
            guard wait else { return try options.print(started.json, or: started.report(now: .now)) }
            try await client.showRefresh(of: name, options)
        }
    }

    private func definition() throws -> JSON {
        if let file = source.file { return try InputFile(file).json(for: "--file") }
        guard let source = source.source else { throw CommandFailure(.usage, SourceOptions.missing) }
        var definition = SubscriptionOptions(source: source)
        definition.latest = latest
        definition.interval = interval
        definition.adaptive = adaptive.map { ($0.min, $0.max) }
        definition.ttl = ttl
        definition.minGap = minGap
        definition.quietHours = quietHours
        definition.allowsShrink = allowShrink
        definition.credential = credential
        definition.tags = tags
        return definition.json
    }
}

/// The source of a subscription: exactly one of several kinds.
struct SourceOptions: ParsableArguments {
    static let missing = "no source; give --feed, --sitemap, --pages, --url, --capture or --file"

    @Option("RSS, Atom or JSON feed.", value: "url") var feed: String?
    @Flag(help: "With --feed: also hold the files that the items attach.") var enclosures = false
    @Option("Sitemap, or index of sitemaps.", value: "url") var sitemap: String?
    @Option("First page of a JSON API with pages; needs --items.", value: "url") var pages: String?
    @Option(
        "With --pages: JSON pointer to the array of items in each page, such as /data; '' for the whole page.",
        value: "pointer")
    var items: String?
    @Option(
        "With --pages: link, for the Link field, or a JSON pointer to the URL of the next page. [default: link]",
        value: "pointer")
    var next: String?
    @Option(
        name: .customLong("url"), parsing: .upToNextOption,
        help: ArgumentHelp("URLs of the resources themselves. Repeatable.", valueName: "url"))
    var urls: [String] = []
    @Option(
        name: .customLong("capture"), parsing: .upToNextOption,
        help: ArgumentHelp("URLs of whole pages, with all their resources. Repeatable.", valueName: "url"))
    var captures: [String] = []
    @Option(
        "File with the definition as in PUT /subscriptions/{name}; - is standard input.", value: "file",
        completion: .file())
    var file: String?

    func validate() throws {
        let kinds = [
            feed != nil, sitemap != nil, pages != nil, !urls.isEmpty, !captures.isEmpty, file != nil,
        ].count { $0 }
        guard kinds > 0 else { throw ValidationError(Self.missing) }
        guard kinds == 1 else {
            throw ValidationError(
                "--feed, --sitemap, --pages, --url, --capture and --file exclude each other; give only one of these")
        }
        guard feed != nil || !enclosures else { throw ValidationError("--enclosures needs --feed") }
        guard pages != nil || items == nil && next == nil else {
            throw ValidationError("--items and --next need --pages")
        }
        guard pages == nil || items != nil else {
            throw ValidationError("--pages needs --items, such as --items /data")
        }
    }

    /// `nil` with ``file``, which has the whole definition.
    var source: SubscriptionOptions.Source? {
        if let feed { return .feed(feed, enclosures: enclosures) }
        if let sitemap { return .sitemap(sitemap) }
        if let pages, let items { return .pages(pages, items: items, next: next) }
        if !urls.isEmpty { return .urls(urls) }
        return captures.isEmpty ? nil : .capture(captures)
    }
}

/// The bounds of an adaptive interval: `5m:1d`.
struct IntervalBounds: ExpressibleByArgument {
    let min: Seconds
    let max: Seconds

    init?(argument: String) {
        let parts = argument.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let min = Seconds(String(parts[0])), let max = Seconds(String(parts[1])) else {
            return nil
        }
        self.min = min
        self.max = max
    }
}
