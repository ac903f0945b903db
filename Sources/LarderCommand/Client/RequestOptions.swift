import ArgumentParser
import LarderClient

/// The options of `larder download` and `larder warm` for the entries that they download.
struct RequestOptions: ParsableArguments {
    @Option("Time that the entry stays fresh. [default: set by the origin]", value: "duration") var ttl: Seconds?
    @Flag(help: "Restart the TTL of an entry that is still fresh.") var updateExpiry = false
    @Flag(help: "Contact the origin even if the entry is fresh.") var refresh = false
    @Option(
        "Time after expiry in which the entry is returned at once and refreshed in the background.", value: "duration")
    var staleWhileRevalidate: Seconds?
    @Option("Time after expiry in which the entry is returned if the origin fails.", value: "duration")
    var staleIfError: Seconds?
    @Option(
        "Header field for the origin, such as 'Accept: text/csv'. Repeatable.", value: "field",
        name: .customLong("header"))
    var headers: [HeaderArgument] = []
    @Option("Tag of the entry. Repeatable.", value: "tag", name: .customLong("tag")) var tags: [String] = []
    @Flag(help: "Pin the entry, so that it is never evicted.") var pinned = false

    var options: DownloadOptions {
        var options = DownloadOptions()
        options.ttl = ttl
        options.updateExpiry = updateExpiry
        options.refresh = refresh
        options.staleWhileRevalidate = staleWhileRevalidate
        options.staleIfError = staleIfError
        options.headers = headers.map { ($0.name, $0.value) }
        options.tags = tags
        options.pinned = pinned
        return options
    }
}

extension Seconds: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }
}

/// A field for the request to the origin: `Name: value`.
struct HeaderArgument: ExpressibleByArgument {
    let name: String
    let value: String

    init?(argument: String) {
        guard let pair = ParameterArgument(argument, separator: ":") else { return nil }
        name = pair.name
        value = String(pair.value.drop(while: \.isWhitespace))
    }
}

/// A parameter of the URL: `name=value`.
struct ParameterArgument: ExpressibleByArgument {
    let name: String
    let value: String

    init?(argument: String) { self.init(argument, separator: "=") }

    fileprivate init?(_ argument: String, separator: Character) {
        let parts = argument.split(separator: separator, maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else { return nil }
        name = String(parts[0])
        value = String(parts[1])
    }
}
