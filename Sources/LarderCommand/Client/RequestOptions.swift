import ArgumentParser
import LarderClient

/// The options of `larder download` and `larder warm` for the entries that they download.
struct RequestOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp("Time that the entry stays fresh. [default: set by the origin]", valueName: "duration"))
    var ttl: Seconds?
    @Flag(name: .long, help: "Restart the TTL of an entry that is still fresh.")
    var updateExpiry = false
    @Flag(name: .long, help: "Contact the origin even if the entry is fresh.")
    var refresh = false
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Time after expiry in which the entry is returned at once and refreshed in the background.",
            valueName: "duration"))
    var staleWhileRevalidate: Seconds?
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Time after expiry in which the entry is returned if the origin fails.", valueName: "duration"))
    var staleIfError: Seconds?
    @Option(
        name: .customLong("header"),
        help: ArgumentHelp("Header field for the origin, such as 'Accept: text/csv'. Repeatable.", valueName: "field"))
    var headers: [HeaderArgument] = []
    @Option(name: .customLong("tag"), help: ArgumentHelp("Tag of the entry. Repeatable.", valueName: "tag"))
    var tags: [String] = []
    @Flag(name: .long, help: "Pin the entry, so that it is never evicted.")
    var pinned = false

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

/// `Name: value`.
struct HeaderArgument: ExpressibleByArgument {
    let name: String
    let value: String

    init?(argument: String) {
        let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else { return nil }
        name = String(parts[0])
        value = String(parts[1].drop(while: \.isWhitespace))
    }
}

/// `name=value`.
struct ParameterArgument: ExpressibleByArgument {
    let name: String
    let value: String

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else { return nil }
        name = String(parts[0])
        value = String(parts[1])
    }
}
