import ArgumentParser
import LarderClient

/// An entry must match all given options.
struct SelectionOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Only entries whose URL, or key of the caller's choice, begins with this text.", valueName: "text"))
    var prefix: String?
    @Option(name: .long, help: ArgumentHelp("Only entries of URLs with this host.", valueName: "host"))
    var host: String?
    @Option(name: .long, help: ArgumentHelp("Only entries with this tag.", valueName: "tag"))
    var tag: String?
    @Option(
        name: .long, help: ArgumentHelp("Only entries in this state: fresh or stale.", valueName: "state"),
        completion: .list(["fresh", "stale"]))
    var state: String?
    @Option(
        name: .long,
        help: ArgumentHelp("Only entries of this kind: download, json, data or response.", valueName: "kind"),
        completion: .list(["download", "json", "data", "response"]))
    var kind: String?

    var selection: EntrySelection {
        var selection = EntrySelection()
        selection.prefix = prefix
        selection.host = host
        selection.tag = tag
        selection.state = state
        selection.kind = kind
        return selection
    }
}
