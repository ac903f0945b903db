import ArgumentParser
import LarderClient

struct WatchCommand: AsyncParsableCommand {
    /// Three times the interval of the server's heartbeats.
    private static let silenceLimit: Duration = .seconds(45)

    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Print events until interrupted.",
        discussion: """
            After a lost connection, connects again and continues with the next event. The event reset means that \
            events in between were lost.
            """)

    @Option(
        "Only events of this type, such as download.failed, or of this group, such as download. Repeatable.",
        value: "type", name: .customLong("type"))
    var types: [String] = []
    @Option("Only events of this key.", value: "key") var key: String?
    @Option("Only events with this tag.", value: "tag") var tag: String?
    @OptionGroup var options: ClientOptions

    func run() async throws {
        var watch = EventWatch()
        watch.types = types
        watch.key = key
        watch.tag = tag
        watch.namespace = options.namespace == "*" ? "*" : nil
        try await options.perform(silenceLimit: Self.silenceLimit, anyNamespace: true) { client in
            try await watch.run(on: client) { event in
                guard !options.json else { return try Console.output.print(json: event.json) }
                try Console.output.print(event.text(forTerminal: Console.output.isTerminal))
            } onPause: { error, delay in
                try? Console.error.print("\(LogText.words(error.description)); retrying in \(Words.duration(delay))")
            }
        }
    }
}
