import ArgumentParser
import LarderClient

/// The options that select entries: an entry must match all that are given.
struct SelectionOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("Whose URL, or own key, begins with this.", valueName: "text"))
    var prefix: String?
    @Option(name: .long, help: ArgumentHelp("Of URLs with this host.", valueName: "host"))
    var host: String?
    @Option(name: .long, help: ArgumentHelp("That carry this label.", valueName: "tag"))
    var tag: String?
    @Option(
        name: .long, help: ArgumentHelp("fresh or stale.", valueName: "state"), completion: .list(["fresh", "stale"]))
    var state: String?
    @Option(
        name: .long, help: ArgumentHelp("download, json, data or response.", valueName: "kind"),
        completion: .list(["download", "json", "data", "response"]))
    var kind: String?

    /// The selection in the form of the client library.
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
