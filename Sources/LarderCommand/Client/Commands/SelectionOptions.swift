import ArgumentParser
import LarderClient

/// Options that select entries. An entry must match all given options.
struct SelectionOptions: ParsableArguments {
    @Option("Only entries whose URL, or key of the caller's choice, begins with this text.", value: "text")
    var prefix: String?
    @Option("Only entries of URLs with this host.", value: "host") var host: String?
    @Option("Only entries with this tag.", value: "tag") var tag: String?
    @Option(
        "Only entries in this state: fresh or stale.", value: "state", completion: .list(["fresh", "stale"]))
    var state: String?
    @Option(
        "Only entries of this kind: download, json, data or response.", value: "kind",
        completion: .list(["download", "json", "data", "response"]))
    var kind: String?

    var selection: EntrySelection {
        [("prefix", prefix), ("host", host), ("tag", tag), ("state", state), ("kind", kind)]
    }
}
